#include "agent/state.h"

#include <algorithm>
#include <utility>

#include "agent/members.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "model/upload.h"

namespace restante::agent {
namespace {

using Where = FileRecord::Where;

constexpr std::size_t kMaxFiles = 10'000;  // some MB of state; messages that name older files are rare
constexpr std::size_t kMaxRecent = 2'000;  // four pages at the server's largest
constexpr JsonLimits kLimits{.depth = 8, .nodes = 2'000'000};
constexpr std::int64_t kVersion = 2;

std::optional<Where> parse_where(std::string_view text) {
  for (const auto where : {Where::waiting, Where::landed, Where::gone, Where::refused}) {
    if (text == name_of(where)) return where;
  }
  return {};
}

Reply::To parse_to(std::string_view text) {
  for (const auto to : {Reply::To::agent, Reply::To::delegation}) {
    if (text == name_of(to)) return to;
  }
  return Reply::To::person;
}

void write_flag(JsonWriter& out, std::string_view name, bool value) {
  if (!value) return;
  out.key(name);
  out.boolean(value);
}

void write_text(JsonWriter& out, std::string_view name, const std::string& value) {
  if (!value.empty()) out.member(name, value);
}

void write_location(JsonWriter& out, const FileRecord& file) {
  out.member("file_id", file.announced.id.text());
  out.member("where", name_of(file.where));
  write_text(out, "path", file.path);
  write_text(out, "trouble", file.trouble);
  write_text(out, "reason", file.reason);
  write_flag(out, "acked", file.acked);
  write_flag(out, "reported", file.reported);
}

void write_file(JsonWriter& out, const FileRecord& file) {
  out.begin_object();
  write_location(out, file);
  out.member("name", file.announced.name);
  out.member("size", static_cast<std::int64_t>(file.announced.size));
  write_text(out, "sha256", file.announced.sha256);
  out.member("uri", file.uri);
  out.member("row_id", file.row_id);
  out.member("seq", file.seq);
  out.member("created_at", file.created_at);
  write_flag(out, "handed_over", file.handed_over);
  write_flag(out, "told", file.notified);
  out.end_object();
}

bool read_location(const Json& object, FileRecord& file) {
  const auto where = parse_where(text_of(object, "where"));
  if (!where) return false;
  file.where = *where;
  file.path = text_of(object, "path");
  file.trouble = text_of(object, "trouble");
  file.reason = text_of(object, "reason");
  file.acked = flag_of(object, "acked");
  file.reported = flag_of(object, "reported");
  return true;
}

std::optional<FileRecord> parse_file(const Json& object) {
  FileRecord file;
  const auto id = FileId::parse(text_of(object, "file_id"));
  if (!id || !read_location(object, file)) return {};
  file.announced = {*id, text_of(object, "name"), static_cast<std::uint64_t>(number_of(object, "size")),
                    text_of(object, "sha256")};
  file.uri = text_of(object, "uri");
  file.row_id = text_of(object, "row_id");
  file.seq = number_of(object, "seq");
  file.created_at = text_of(object, "created_at");
  file.handed_over = flag_of(object, "handed_over");
  file.notified = flag_of(object, "told");
  return file;
}

void write_reply(JsonWriter& out, const Reply& reply) {
  out.begin_object();
  out.member("key", reply.key);
  out.member("text", reply.text);
  out.member("to", name_of(reply.to));
  write_text(out, "target", reply.target);
  if (reply.hops > 0) out.member("hops", reply.hops);
  write_flag(out, "failed", reply.failed);
  write_text(out, "files", reply.files);
  out.end_object();
}

Reply parse_reply(const Json& object) {
  return {text_of(object, "key"),    text_of(object, "text"),   parse_to(text_of(object, "to")),
          text_of(object, "target"), number_of(object, "hops"), flag_of(object, "failed"),
          text_of(object, "files")};
}

void write_pair(JsonWriter& out, const std::string& first, const std::string& second) {
  out.begin_array();
  out.string(first);
  out.string(second);
  out.end_array();
}

std::optional<std::pair<std::string, std::string>> parse_pair(const Json& entry) {
  const auto* pair = entry.if_array();
  if (!pair || pair->size() != 2 || !(*pair)[0].if_string() || !(*pair)[1].if_string()) return {};
  return std::pair(*(*pair)[0].if_string(), *(*pair)[1].if_string());
}

void write_ids(JsonWriter& out, std::string_view name, const std::vector<FileId>& ids) {
  if (ids.empty()) return;
  out.key(name);
  out.begin_array();
  for (const auto id : ids) out.string(id.text());
  out.end_array();
}

// Drops the oldest finished files above kMaxFiles.
void trim(std::deque<FileRecord>& files) {
  const auto finished = [](const FileRecord& file) {
    return file.where != Where::waiting && (file.where != Where::landed || (file.handed_over && file.acked));
  };
  while (files.size() > kMaxFiles) {
    const auto oldest = std::find_if(files.begin(), files.end(), finished);
    if (oldest == files.end()) return;
    files.erase(oldest);
  }
}

void mark(State& state, const Json& line, std::string_view list, bool FileRecord::* flag) {
  for (const auto& entry : list_of(line, list)) {
    const auto id = entry.if_string() ? FileId::parse(*entry.if_string()) : std::nullopt;
    if (auto* file = id ? state.find(*id) : nullptr) file->*flag = true;
  }
}

void apply_delivery_end(State& state, const Json& line) {
  std::erase(state.begun, text_of(line, "handed"));
  state.recent.push_back({text_of(line, "handed"), text_of(line, "created_at")});
  while (state.recent.size() > kMaxRecent) state.recent.pop_front();
  mark(state, line, "files", &FileRecord::handed_over);
  mark(state, line, "told", &FileRecord::notified);
  const auto* json = line.find("reply");
  if (!json) return;
  auto reply = parse_reply(*json);
  if (reply.to == Reply::To::agent && reply.hops == 1)
    remember(state.answered, {reply.target, text_of(line, "created_at")});
  state.outbox.push_back(std::move(reply));
}

void apply_identity(State& state, const Json& identity) {
  state.server = text_of(identity, "server");
  state.workspace = text_of(identity, "workspace");
  state.enrolled = text_of(identity, "enrolled");
}

}  // namespace

std::string_view name_of(Where where) {
  switch (where) {
    case Where::waiting:
      return "waiting";
    case Where::landed:
      return "landed";
    case Where::gone:
      return "gone";
    case Where::refused:
      return "refused";
  }
  return "waiting";
}

std::string_view name_of(Reply::To to) {
  switch (to) {
    case Reply::To::person:
      return "person";
    case Reply::To::agent:
      return "agent";
    case Reply::To::delegation:
      return "delegation";
  }
  return "person";
}

std::optional<FileId> pending_file(std::string_view uri) {
  if (!equal_ignoring_case(uri.substr(0, kPendingScheme.size()), kPendingScheme)) return {};
  const auto slash = uri.rfind('/');
  return slash == std::string_view::npos ? std::nullopt : FileId::parse(std::string(uri.substr(slash + 1)));
}

FileRecord* State::find(FileId id) { return const_cast<FileRecord*>(std::as_const(*this).find(id)); }

const FileRecord* State::find(FileId id) const {
  const auto found =
      std::find_if(files.rbegin(), files.rend(), [&](const FileRecord& file) { return file.announced.id == id; });
  return found == files.rend() ? nullptr : &*found;
}

bool State::has_begun(const std::string& delivery) const {
  return std::find(begun.begin(), begun.end(), delivery) != begun.end();
}

bool State::has_seen(const std::string& row_id, const std::string& created_at) const {
  if (recent.size() >= kMaxRecent && created_at < recent.front().created_at) return true;
  return std::any_of(recent.begin(), recent.end(), [&](const Handled& handled) { return handled.id == row_id; });
}

bool State::apply(const Json& line) {
  if (const auto* seq = line.find("cursor")) {
    if (!seq->integer()) return false;
    cursor = *seq->integer();
    started = true;
  } else if (const auto* announced = line.find("file")) {
    auto file = parse_file(*announced);
    if (!file) return false;
    if (!find(file->announced.id)) files.push_back(std::move(*file));
    trim(files);
  } else if (const auto* file_updated = line.find("came")) {
    const auto id = FileId::parse(text_of(*file_updated, "file_id"));
    if (!id) return false;
    if (auto* file = find(*id)) return read_location(*file_updated, *file);
  } else if (line.find("begun")) {
    if (!has_begun(text_of(line, "begun"))) begun.push_back(text_of(line, "begun"));
  } else if (line.find("handed")) {
    apply_delivery_end(*this, line);
  } else if (line.find("sent")) {
    const auto key = text_of(line, "sent");
    std::erase_if(outbox, [&](const Reply& reply) { return reply.key == key; });
  } else if (const auto* identity = line.find("identity")) {
    apply_identity(*this, *identity);
  } else {
    return false;
  }
  return true;
}

std::string State::dump() const {
  JsonWriter out;
  out.begin_object();
  out.member("version", kVersion);
  out.member("server", server);
  out.member("workspace", workspace);
  out.member("enrolled", enrolled);
  if (started) out.member("cursor", cursor);
  out.key("begun");
  out.begin_array();
  for (const auto& id : begun) out.string(id);
  out.end_array();
  out.key("files");
  out.begin_array();
  for (const auto& file : files) write_file(out, file);
  out.end_array();
  out.key("outbox");
  out.begin_array();
  for (const auto& reply : outbox) write_reply(out, reply);
  out.end_array();
  out.key("recent");
  out.begin_array();
  for (const auto& handled : recent) write_pair(out, handled.id, handled.created_at);
  out.end_array();
  out.key("answered");
  out.begin_array();
  for (const auto& answer : answered) write_pair(out, answer.peer, answer.created_at);
  out.end_array();
  out.end_object();
  return out.take() + "\n";
}

std::optional<State> State::parse(const std::string& text) {
  const auto json = parse_json(text, kLimits);
  if (json.has_error()) return {};
  if (const auto version = number_of(*json, "version"); version < 1 || version > kVersion) return {};
  State state;
  apply_identity(state, *json);
  state.started = json->find("cursor") != nullptr;
  state.cursor = number_of(*json, "cursor");
  for (const auto& entry : list_of(*json, "begun")) {
    if (entry.if_string()) state.begun.push_back(*entry.if_string());
  }
  for (const auto& entry : list_of(*json, "files")) {
    auto file = parse_file(entry);
    if (!file) return {};
    state.files.push_back(std::move(*file));
  }
  for (const auto& entry : list_of(*json, "outbox")) state.outbox.push_back(parse_reply(entry));
  for (const auto& entry : list_of(*json, "recent")) {
    if (const auto* id = entry.if_string()) {  // version 1
      state.recent.push_back({*id, {}});
      continue;
    }
    auto pair = parse_pair(entry);
    if (!pair) return {};
    state.recent.push_back({std::move(pair->first), std::move(pair->second)});
  }
  for (const auto& entry : list_of(*json, "answered")) {
    auto pair = parse_pair(entry);
    if (!pair) return {};
    state.answered.push_back({std::move(pair->first), std::move(pair->second)});
  }
  return state;
}

namespace change {

std::string identity(std::string_view server, std::string_view workspace, std::string_view enrolled) {
  JsonWriter out;
  out.begin_object();
  out.key("identity");
  out.begin_object();
  out.member("server", server);
  out.member("workspace", workspace);
  out.member("enrolled", enrolled);
  out.end_object();
  out.end_object();
  return out.take();
}

std::string cursor(std::int64_t seq) { return "{\"cursor\":" + std::to_string(seq) + "}"; }

std::string announced(const FileRecord& file) {
  JsonWriter out;
  out.begin_object();
  out.key("file");
  write_file(out, file);
  out.end_object();
  return out.take();
}

std::string file_updated(const FileRecord& file) {
  JsonWriter out;
  out.begin_object();
  out.key("came");
  out.begin_object();
  write_location(out, file);
  out.end_object();
  out.end_object();
  return out.take();
}

std::string begun(std::string_view id) {
  JsonWriter out;
  out.begin_object();
  out.member("begun", id);
  out.end_object();
  return out.take();
}

std::string delivery_ended(const DeliveryEnd& end) {
  JsonWriter out;
  out.begin_object();
  out.member("handed", end.id);
  out.member("created_at", end.created_at);
  write_ids(out, "files", end.files);
  write_ids(out, "told", end.notified);
  if (end.reply) {
    out.key("reply");
    write_reply(out, *end.reply);
  }
  out.end_object();
  return out.take();
}

std::string sent(std::string_view key) {
  JsonWriter out;
  out.begin_object();
  out.member("sent", key);
  out.end_object();
  return out.take();
}

}  // namespace change
}  // namespace restante::agent
