#include "agent/state.h"

#include "base/json.h"
#include "base/json_writer.h"

namespace restante::agent {
namespace {

constexpr std::size_t kMaxFiles = 2000;   // about 1 MB of state; messages that name older files are rare
constexpr std::size_t kMaxRecent = 1000;  // two pages at the server's largest
constexpr JsonLimits kLimits{.depth = 8, .nodes = 1'000'000};

std::string text_of(const Json& object, std::string_view key) {
  const auto* value = object.find(key);
  return value && value->if_string() ? *value->if_string() : std::string();
}

std::int64_t number_of(const Json& object, std::string_view key) {
  const auto* value = object.find(key);
  return value ? value->integer().value_or(0) : 0;
}

bool flag_of(const Json& object, std::string_view key) {
  const auto* value = object.find(key);
  return value && value->if_boolean() && *value->if_boolean();
}

const Json::Array& list_of(const Json& object, std::string_view key) {
  static const Json::Array empty;
  const auto* value = object.find(key);
  return value && value->if_array() ? *value->if_array() : empty;
}

std::optional<FileRecord::Where> parse_where(std::string_view text) {
  using Where = FileRecord::Where;
  for (const auto where : {Where::waiting, Where::landed, Where::gone}) {
    if (text == name_of(where)) return where;
  }
  return {};
}

void write_file(JsonWriter& out, const FileRecord& file) {
  out.begin_object();
  out.member("file_id", file.parcel.id.text());
  out.member("name", file.parcel.name);
  out.member("size", static_cast<std::int64_t>(file.parcel.size));
  out.member("sha256", file.parcel.sha256);
  out.member("uri", file.uri);
  out.member("row_id", file.row_id);
  out.member("seq", file.seq);
  out.member("created_at", file.created_at);
  out.member("where", name_of(file.where));
  out.member("path", file.path);
  out.member("trouble", file.trouble);
  for (const auto& [name, value] :
       {std::pair("acked", file.acked), {"reported", file.reported}, {"handed_over", file.handed_over}}) {
    out.key(name);
    out.boolean(value);
  }
  out.end_object();
}

std::optional<FileRecord> parse_file(const Json& object) {
  FileRecord file;
  const auto id = FileId::parse(text_of(object, "file_id"));
  const auto where = parse_where(text_of(object, "where"));
  if (!id || !where) return {};
  file.parcel = {*id, text_of(object, "name"), static_cast<std::uint64_t>(number_of(object, "size")),
                 text_of(object, "sha256")};
  file.uri = text_of(object, "uri");
  file.row_id = text_of(object, "row_id");
  file.seq = number_of(object, "seq");
  file.created_at = text_of(object, "created_at");
  file.where = *where;
  file.path = text_of(object, "path");
  file.trouble = text_of(object, "trouble");
  file.acked = flag_of(object, "acked");
  file.reported = flag_of(object, "reported");
  file.handed_over = flag_of(object, "handed_over");
  return file;
}

}  // namespace

std::string_view name_of(FileRecord::Where where) {
  switch (where) {
    case FileRecord::Where::waiting:
      return "waiting";
    case FileRecord::Where::landed:
      return "landed";
    case FileRecord::Where::gone:
      return "gone";
  }
  return "waiting";
}

FileRecord* State::find(const std::string& uri) {
  const auto found =
      std::find_if(files.rbegin(), files.rend(), [&](const FileRecord& file) { return file.uri == uri; });
  return found == files.rend() ? nullptr : &*found;
}

bool State::has_seen(const std::string& row_id) const {
  return std::find(recent.begin(), recent.end(), row_id) != recent.end();
}

void State::remember(const std::string& row_id) {
  recent.push_back(row_id);
  while (recent.size() > kMaxRecent) recent.pop_front();
}

void State::trim() {
  const auto finished = [](const FileRecord& file) {
    return file.where != FileRecord::Where::waiting && file.handed_over && file.acked;
  };
  while (files.size() > kMaxFiles) {
    const auto oldest = std::find_if(files.begin(), files.end(), finished);
    if (oldest == files.end()) return;
    files.erase(oldest);
  }
}

std::string State::dump() const {
  JsonWriter out;
  out.begin_object();
  out.member("version", std::int64_t{1});
  out.member("server", server);
  out.member("workspace", workspace);
  out.member("enrolled", enrolled);
  out.member("cursor", cursor);
  out.key("files");
  out.begin_array();
  for (const auto& file : files) write_file(out, file);
  out.end_array();
  out.key("outbox");
  out.begin_array();
  for (const auto& reply : outbox) {
    out.begin_object();
    out.member("key", reply.key);
    out.member("text", reply.text);
    out.end_object();
  }
  out.end_array();
  out.key("recent");
  out.begin_array();
  for (const auto& id : recent) out.string(id);
  out.end_array();
  out.end_object();
  return out.take() + "\n";
}

std::optional<State> State::parse(const std::string& text) {
  const auto json = parse_json(text, kLimits);
  if (json.has_error() || number_of(*json, "version") != 1) return {};
  State state;
  state.server = text_of(*json, "server");
  state.workspace = text_of(*json, "workspace");
  state.enrolled = text_of(*json, "enrolled");
  state.cursor = number_of(*json, "cursor");
  for (const auto& entry : list_of(*json, "files")) {
    auto file = parse_file(entry);
    if (!file) return {};
    state.files.push_back(std::move(*file));
  }
  for (const auto& entry : list_of(*json, "outbox"))
    state.outbox.push_back({text_of(entry, "key"), text_of(entry, "text")});
  for (const auto& entry : list_of(*json, "recent")) {
    if (entry.if_string()) state.recent.push_back(*entry.if_string());
  }
  return state;
}

}  // namespace restante::agent
