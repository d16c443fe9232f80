// Saves files of an agent's answer or of a task's result to a folder: verified, under a safe name, and never in place
// of another file. A broken connection is resumed. One thread.
#pragma once
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "cli/remote/remote.h"
#include "cli/terminal/table.h"

namespace restante::cli {

// A file that came back: where it is now.
struct ReturnedFile {
  std::string name;
  std::int64_t size = 0;  // 0: not known
  std::string path;       // absolute; empty: it was not saved
  std::string trouble;    // why it could not be saved; empty: nobody asked for it, or it was
};

// Creates the folder. Throws CommandFailed that names --save when files cannot be written there. Call it before
// anything is sent.
void check_save_folder(const std::string& folder);

// `files` are file parts as the server names them. With an empty folder nothing is fetched.
std::vector<ReturnedFile> take_files(Remote& remote, const Json::Array& files, const std::string& folder);

// One line for each file: its name, size, and where it is; `hint` is the command that takes a file that was not saved.
std::string format_returned(const std::vector<ReturnedFile>& files, const std::string& hint, Colours colours);
// The member `files` of an object.
void write_returned(JsonWriter& out, const std::vector<ReturnedFile>& files);
// Adds the member `saved` to a task: the same list, when a file was saved or could not be.
void add_saved(Json& task, const std::vector<ReturnedFile>& files);
bool all_saved(const std::vector<ReturnedFile>& files);

// The name in the folder: safe, and not hidden. With a number from 2 on: "chart-2.png".
std::string saved_name(std::string_view name, int number);

}  // namespace restante::cli
