// Attachments: which files of this machine the tools may send. A model can be talked into sending any file whose path
// it knows, so a file must be in one of the allowed folders, and must not be one of the agent's own secrets. A path is
// judged by where it really leads, after all symbolic links. Reads the file system; changes nothing. Any thread.
#pragma once
#include <string>
#include <vector>

#include "client/failure.h"

namespace restante::mcp {

struct AttachmentRules {
  std::vector<std::string> allowed;  // folders: files below them may be sent
  std::vector<std::string> secret;   // files, and folders with all that is below them: never sent
};

// The real paths of the files, in the same order. A failure has the path as given and why it may not be sent. Whether a
// file exists outside of the allowed folders is not revealed.
client::Outcome<std::vector<std::string>> check_attachments(const AttachmentRules& rules,
                                                            const std::vector<std::string>& paths);

}  // namespace restante::mcp
