#include "agent/state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_writer.h"
#include "base/names.h"
#include "base/text.h"
#include "model/upload.h"

namespace restante::agent {
namespace {

using Where = FileRecord::Where;

constexpr std::size_t kMaxFiles = 10'000;  // some MB of state; messages that name older files are rare
constexpr std::size_t kMaxRecent = 2'000;  // four pages at the server's largest
constexpr JsonLimits kLimits{.depth = 8, .nodes = 2'000'000};
constexpr std::int64_t kVersion = 2;

constexpr Names<Where, Where::refused> kWheres{"waiting", "landed", "gone", "refused"};
constexpr Names<Reply::To, Reply::To::delegation> kTos{"person", "agent", "delegation"};

void write_location(JsonWriter& out, const FileRecord& file) {
  out.member("file_id", file.announced.id.text());
  out.member("where", kWheres.of(file.where));
  out.member_if("path", file.path);
  out.member_if("trouble", file.trouble);
  out.member_if("reason", file.reason);
  out.flag("acked", file.acked);
  out.flag("reported", file.reported);
}

void write_file(JsonWriter& out, const FileRecord& file) {
  write_location(out, file);
  out.member("name", file.announced.name);
  out.member("size", static_cast<std::int64_t>(file.announced.size));
  out.member_if("sha256", file.announced.sha256);
  out.member("uri", file.uri);
  out.member("row_id", file.row_id);
  out.member("seq", file.seq);
  out.member("created_at", file.created_at);
  out.flag("handed_over", file.handed_over);
  out.flag("told", file.notified);
}

bool read_location(const Json& object, FileRecord& file) {
  const auto where = kWheres.parse(object.text("where"));
  if (!where) return false;
  file.where = *where;
  file.path = object.text("path");
  file.trouble = object.text("trouble");
  file.reason = object.text("reason");
  file.acked = object.flag("acked");
  file.reported = object.flag("reported");
  return true;
}

std::optional<FileRecord> parse_file(const Json& object) {
  FileRecord file;
  const auto id = FileId::parse(object.text("file_id"));
  if (!id || !read_location(object, file)) return {};
  file.announced = {*id, object.text("name"), static_cast<std::uint64_t>(object.whole("size")), object.text("sha256")};
  file.uri = object.text("uri");
  file.row_id = object.text("row_id");
  file.seq = object.whole("seq");
  file.created_at = object.text("created_at");
  file.handed_over = object.flag("handed_over");
  file.notified = object.flag("told");
  return file;
}

void write_reply(JsonWriter& out, const Reply& reply) {
  out.member("key", reply.key);
  out.member("text", reply.text);
  out.member("to", kTos.of(reply.to));
  out.member_if("target", reply.target);
  if (reply.hops > 0) out.member("hops", reply.hops);
  out.flag("failed", reply.failed);
  out.member_if("files", reply.files);
  out.member_if("row", reply.row);
}

Reply parse_reply(const Json& object) {
  return {object.text("key"),    object.text("text"),  kTos.parse(object.text("to")).value_or(Reply::To::person),
          object.text("target"), object.whole("hops"), object.flag("failed"),
          object.text("files"),  object.text("row")};
}

void write_origin(JsonWriter& out, const Origin& origin) {
  out.member("id", origin.id);
  out.member("created_at", origin.created_at);
  out.member("source_id", origin.source_id);
  out.member_if("delegation_id", origin.delegation_id);
  if (origin.hops > 0) out.member("hops", origin.hops);
}

Origin parse_origin(const Json& object) {
  return {object.text("id"), object.text("created_at"), object.text("source_id"), object.text("delegation_id"),
          object.whole("hops")};
}

// A list of two texts.
void write_pair(JsonWriter& out, std::string_view first, std::string_view second) {
  out.array(std::array{first, second}, [&](std::string_view text) { out.string(text); });
}

std::optional<std::pair<std::string, std::string>> parse_pair(const Json& entry) {
  const auto* pair = entry.if_array();
  if (!pair || pair->size() != 2 || !(*pair)[0].if_string() || !(*pair)[1].if_string()) return {};
  return std::pair(*(*pair)[0].if_string(), *(*pair)[1].if_string());
}

void write_ids(JsonWriter& out, std::string_view name, const std::vector<FileId>& ids) {
  if (!ids.empty()) out.array(name, ids, [&](FileId id) { out.string(id.text()); });
}

void write_identity(JsonWriter& out, std::string_view server, std::string_view workspace, std::string_view enrolled) {
  out.member("server", server);
  out.member("workspace", workspace);
  out.member("enrolled", enrolled);
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
  for (const auto& entry : line.items(list)) {
    const auto id = entry.if_string() ? FileId::parse(*entry.if_string()) : std::nullopt;
    if (auto* file = id ? state.find(*id) : nullptr) file->*flag = true;
  }
}

void add_reply(State& state, const Json& json, const std::string& created_at) {
  auto reply = parse_reply(json);
  if (reply.to == Reply::To::agent && reply.hops == 1) remember(state.answered, {reply.target, created_at});
  state.outbox.push_back(std::move(reply));
}

void apply_delivery_end(State& state, const Json& line) {
  std::erase(state.begun, line.text("handed"));
  state.recent.push_back({line.text("handed"), line.text("created_at")});
  while (state.recent.size() > kMaxRecent) state.recent.pop_front();
  mark(state, line, "files", &FileRecord::handed_over);
  mark(state, line, "told", &FileRecord::notified);
  if (const auto* origin = line.find("origin")) state.origins.push_back(parse_origin(*origin));
  while (state.origins.size() > kMaxRecent) state.origins.pop_front();
  if (const auto* json = line.find("reply")) add_reply(state, *json, line.text("created_at"));
}

void apply_identity(State& state, const Json& identity) {
  state.server = identity.text("server");
  state.workspace = identity.text("workspace");
  state.enrolled = identity.text("enrolled");
}

}  // namespace

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

std::optional<Origin> State::origin_of(const std::string& delivery) const {
  const auto found = std::ranges::find(origins, delivery, &Origin::id);
  if (found != origins.end()) return *found;
  if (std::ranges::find(recent, delivery, &Handled::id) == recent.end()) return {};
  return Origin{delivery, {}, {}, {}, 0};
}

bool State::apply(const Json& line) {
  if (const auto* seq = line.find("cursor")) {
    if (!seq->integer()) return false;
    cursor = *seq->integer();
    cursor_row = line.text("row");
    started = true;
  } else if (const auto* announced = line.find("file")) {
    auto file = parse_file(*announced);
    if (!file) return false;
    if (!find(file->announced.id)) files.push_back(std::move(*file));
    trim(files);
  } else if (const auto* file_updated = line.find("came")) {
    const auto id = FileId::parse(file_updated->text("file_id"));
    if (!id) return false;
    if (auto* file = find(*id)) return read_location(*file_updated, *file);
  } else if (line.find("begun")) {
    if (!has_begun(line.text("begun"))) begun.push_back(line.text("begun"));
  } else if (line.find("handed")) {
    apply_delivery_end(*this, line);
  } else if (const auto* replied = line.find("replied")) {
    add_reply(*this, *replied, line.text("created_at"));
  } else if (line.find("sent")) {
    const auto key = line.text("sent");
    std::erase_if(outbox, [&](const Reply& reply) { return reply.key == key; });
  } else if (const auto* identity = line.find("identity")) {
    apply_identity(*this, *identity);
  } else {
    return false;
  }
  return true;
}

std::string State::dump() const {
  return json_object([&](JsonWriter& out) {
           out.member("version", kVersion);
           write_identity(out, server, workspace, enrolled);
           if (started) out.member("cursor", cursor);
           out.member_if("cursor_row", cursor_row);
           out.array("begun", begun, [&](const std::string& id) { out.string(id); });
           out.objects("files", files, [&](const FileRecord& file) { write_file(out, file); });
           out.objects("outbox", outbox, [&](const Reply& reply) { write_reply(out, reply); });
           out.array("recent", recent,
                     [&](const Handled& handled) { write_pair(out, handled.id, handled.created_at); });
           out.array("answered", answered,
                     [&](const AutomaticAnswer& one) { write_pair(out, one.peer, one.created_at); });
           out.objects("origins", origins, [&](const Origin& origin) { write_origin(out, origin); });
         }) +
         "\n";
}

std::optional<State> State::parse(const std::string& text) {
  const auto json = parse_json(text, kLimits);
  if (json.has_error()) return {};
  if (const auto version = json->whole("version"); version < 1 || version > kVersion) return {};
  State state;
  apply_identity(state, *json);
  state.started = json->find("cursor") != nullptr;
  state.cursor = json->whole("cursor");
  state.cursor_row = json->text("cursor_row");
  for (const auto& entry : json->items("begun")) {
    if (entry.if_string()) state.begun.push_back(*entry.if_string());
  }
  for (const auto& entry : json->items("files")) {
    auto file = parse_file(entry);
    if (!file) return {};
    state.files.push_back(std::move(*file));
  }
  for (const auto& entry : json->items("outbox")) state.outbox.push_back(parse_reply(entry));
  for (const auto& entry : json->items("recent")) {
    if (const auto* id = entry.if_string()) {  // version 1
      state.recent.push_back({*id, {}});
      continue;
    }
    auto pair = parse_pair(entry);
    if (!pair) return {};
    state.recent.push_back({std::move(pair->first), std::move(pair->second)});
  }
  for (const auto& entry : json->items("answered")) {
    auto pair = parse_pair(entry);
    if (!pair) return {};
    state.answered.push_back({std::move(pair->first), std::move(pair->second)});
  }
  for (const auto& entry : json->items("origins")) state.origins.push_back(parse_origin(entry));
  return state;
}

namespace change {

std::string identity(std::string_view server, std::string_view workspace, std::string_view enrolled) {
  return json_object(
      [&](JsonWriter& out) { out.object("identity", [&] { write_identity(out, server, workspace, enrolled); }); });
}

std::string cursor(std::int64_t seq, std::string_view row) {
  return json_object([&](JsonWriter& out) {
    out.member("cursor", seq);
    out.member_if("row", row);
  });
}

std::string announced(const FileRecord& file) {
  return json_object([&](JsonWriter& out) { out.object("file", [&] { write_file(out, file); }); });
}

std::string file_updated(const FileRecord& file) {
  return json_object([&](JsonWriter& out) { out.object("came", [&] { write_location(out, file); }); });
}

std::string begun(std::string_view id) {
  return json_object([&](JsonWriter& out) { out.member("begun", id); });
}

std::string delivery_ended(const DeliveryEnd& end) {
  return json_object([&](JsonWriter& out) {
    out.member("handed", end.id);
    out.member("created_at", end.created_at);
    write_ids(out, "files", end.files);
    write_ids(out, "told", end.notified);
    if (end.origin) out.object("origin", [&] { write_origin(out, *end.origin); });
    if (end.reply) out.object("reply", [&] { write_reply(out, *end.reply); });
  });
}

std::string replied(const Reply& reply, std::string_view created_at) {
  return json_object([&](JsonWriter& out) {
    out.object("replied", [&] { write_reply(out, reply); });
    out.member_if("created_at", created_at);
  });
}

std::string sent(std::string_view key) {
  return json_object([&](JsonWriter& out) { out.member("sent", key); });
}

}  // namespace change
}  // namespace restante::agent
