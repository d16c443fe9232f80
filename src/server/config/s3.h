// The section [s3]: its small grammars, like those in values.h, and the checks across its settings. Pure
// functions except for the checks, which read the named files and the keys in the environment.
#pragma once
#include <string>
#include <vector>

#include "client/proxy.h"
#include "server/config/config.h"
#include "store/s3/credentials.h"

namespace restante {

// These throw BadValue; an empty text is valid, except for the word.
std::string parse_s3_endpoint(const std::string& text);  // "https://s3.example.org:9000", without the closing slash
std::string parse_bucket(const std::string& text);
std::string parse_s3_prefix(const std::string& text);
std::string parse_s3_word(const std::string& text);  // printable, no spaces; may be a secret and is never repeated

// Throws ConfigError with the setting to change.
void check_s3(const Config& config);
void add_s3_warnings(const Config& config, std::vector<std::string>& found);

s3::CredentialSettings s3_credentials(const Config& config);
// For a server that is about to start. Throws ConfigError when new files go to S3 and there are no keys for it, and, as
// for s3.credentials_file, when all users can read the file with the keys. When S3 is only configured, missing keys are
// a warning.
void require_s3_keys(const Config& config, const client::Environment& environment = client::from_environment);

}  // namespace restante
