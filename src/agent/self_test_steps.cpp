#include "agent/self_test_steps.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/a2a.h"
#include "model/file_part.h"

namespace restante::agent {
namespace {

using Step = SelfTestStep::Step;

constexpr int kPolls = 100;  // with pauses of 200 ms

class SelfTest {
 public:
  SelfTest(const Settings& settings, const std::string& sender, const StateView& state_view,
           const std::function<void(const SelfTestStep&)>& on_step)
      : settings_(settings),
        sender_(sender),
        state_view_(state_view),
        on_step_(on_step),
        api_(settings.server, settings.token, settings.http),
        name_(std::string(kSelfTestName) + Uuid::make(SystemClock().now()).text() + ".txt"),
        bytes_("sent by restante doctor: " + name_ + "\n") {}

  bool run() {
    if (!server() || !token() || !disk() || !upload()) return false;
    const auto file = find_announcement();
    if (!file || !fetch(*file)) return false;
    if (staged_for_us_) return ack(*file);
    on_step_({Step::ack, SelfTestStep::Result::untried,
              "this server keeps a file that an agent sends to itself as an outgoing one, which is never acknowledged; "
              "with the "
              "token of a person (`restante invite --sender`) in --sender-file it would be tried"});
    return true;
  }

 private:
  bool passed(Step step, std::string sentence) {
    return on_step_({step, SelfTestStep::Result::passed, std::move(sentence)}), true;
  }
  bool failed(Step step, std::string sentence) {
    return on_step_({step, SelfTestStep::Result::failed, std::move(sentence)}), false;
  }

  std::string path(std::string_view rest) const { return "/workspaces/" + workspace_ + std::string(rest); }

  bool server() {
    const auto health = api_.get("/health");
    if (health.has_error()) return failed(Step::server, health.error().sentence);
    if (health->text("status") != "ok") return failed(Step::server, "GET /health does not answer with status ok");
    return passed(Step::server, settings_.server.text() + " is well");
  }

  bool token() {
    if (settings_.token.empty())
      return failed(Step::token, "there is none: neither --token-file nor RESTANTE_TOKEN nor one kept by connect");
    workspace_ = settings_.workspace;
    if (workspace_.empty()) {
      const auto session = api_.get("/session");
      if (session.has_error()) return failed(Step::token, session.error().sentence);
      if (session->text("role") != "workspace")
        return failed(Step::token, "it is not a workspace's own token: give that of an agent");
      workspace_ = session->text("workspace_id");
    }
    const auto workspace = api_.get(path(""));
    if (workspace.has_error()) return failed(Step::token, workspace.error().sentence);
    api_.use_workspace(workspace_);
    if (workspace->text("delivery_mode") == "push")
      return failed(Step::token, "good for " + workspace->text("name") + ", which is called and does not poll");
    return passed(Step::token, fmt::format("good for {} ({})", workspace->text("name"), workspace_));
  }

  bool disk() {
    const LandingFolder landing(settings_.dir);
    AnnouncedFile announced{FileId::make(SystemClock().now()), name_, bytes_.size(), to_hex(sha256(bytes_))};
    auto partial = landing.begin(announced);
    if (partial.has_error()) return failed(Step::disk, partial.error().sentence);
    if (const auto written = partial->append(bytes_); written.has_error())
      return failed(Step::disk, written.error().sentence);
    const auto landed = landing.finish(std::move(*partial), announced);
    if (landed.has_error()) return failed(Step::disk, landed.error().sentence);
    if (!*landed) return failed(Step::disk, "what was written is not what can be read");
    unlink(landed.value()->c_str());
    struct statvfs room{};
    const auto folder = std::filesystem::path(**landed).parent_path().string();
    const auto free = statvfs(folder.c_str(), &room) == 0
                          ? static_cast<std::int64_t>(room.f_bavail) * static_cast<std::int64_t>(room.f_frsize)
                          : 0;
    return passed(Step::disk, fmt::format("files land in {}, {} free", folder, human_size(free)));
  }

  bool upload() {
    const std::string boundary = "restante-doctor-boundary";
    const auto form = fmt::format(
        "--{}\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{}\"\r\nContent-Type: text/plain\r\n\r\n{}"
        "\r\n--{}--\r\n",
        boundary, name_, bytes_, boundary);
    const auto type = "multipart/form-data; boundary=" + boundary;
    ApiClient sender(settings_.server, sender_, settings_.http);
    const auto sent = sender_.empty() ? api_.post(path("/chat/uploads?direction=out"), type, form)
                                      : sender.post(path("/chat/uploads"), type, form);
    if (sent.has_error()) return failed(Step::upload, sent.error().sentence);
    const auto& files = sent->items("files");
    const auto uri = files.size() == 1 ? files[0].text("uri") : std::string();
    file_ = pending_file(uri);
    if (!file_) return failed(Step::upload, "the answer does not name the file");
    if (!sender_.empty()) return passed(Step::upload, fmt::format("{} bytes, as a person", bytes_.size()));
    // A file that an agent sends is announced by the message that names it, also to itself.
    const auto message = api_.post(path("/a2a"), "application/json", message_with(uri));
    if (message.has_error()) return failed(Step::upload, message.error().sentence);
    return passed(Step::upload, fmt::format("{} bytes, and a message that names them", bytes_.size()));
  }

  std::string message_with(const std::string& uri) const {
    return message_call(name_, [&](JsonWriter& out) {
      out.member("messageId", name_);
      const FilePart files[] = {{uri, name_, {}, {}}};
      write_parts(out, {}, files, [&](const FilePart& file) { write_file_part(out, file); });
      out.object("metadata", [&] { out.member(kSelfTestMember, true); });
    });
  }

  // The rows after the agent's cursor. Without a known cursor, the newest rows: a cursor chosen here would count as
  // read.
  client::Outcome<Json> rows() {
    std::string cursor;
    if (const auto& state = state_view_.state) {
      cursor = state->cursor_row.empty() ? fmt::format("since_seq={}&wait=10&", state->cursor)
                                         : fmt::format("since_id={}&wait=10&", state->cursor_row);
    }
    return api_.get(
        path(fmt::format("/activity?{}type=a2a_receive&limit=500", polls_++ == 0 ? cursor : std::string())));
  }

  // A file staged for the agent has its own row, with an id that the server may have chosen. Otherwise only a message
  // names it.
  std::optional<FileId> find_in(const Json::Array& rows) {
    bool named = false;
    for (const auto& row : rows) {
      const auto* body = row.find("request_body");
      if (!body) continue;
      if (row.text("method") == "chat_upload_receive" && body->text("name") == name_) {
        staged_for_us_ = true;
        return FileId::parse(body->text("file_id"));
      }
      named = named || body->dump().find(file_->text()) != std::string::npos;
    }
    return named ? file_ : std::nullopt;
  }

  std::optional<FileId> find_announcement() {
    for (int poll = 0; poll < kPolls; ++poll) {
      const auto page = rows();
      if (page.has_error()) return failed(Step::announce, page.error().sentence), std::nullopt;
      if (!page->if_array()) return failed(Step::announce, "the answer is not a list of inbox entries"), std::nullopt;
      if (const auto found = find_in(*page->if_array())) {
        passed(Step::announce, "the file is in the inbox");
        return found;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return failed(Step::announce, "the file does not come up in the inbox"), std::nullopt;
  }

  bool fetch(FileId file) {
    std::string got;
    const auto answer = api_.fetch(file, 0, [&](const client::Response&, std::string_view bytes) {
      got += bytes;
      return got.size() <= bytes_.size();
    });
    if (answer.has_value() && got == bytes_) return passed(Step::fetch, "every byte is right");
    if (answer.has_value()) return failed(Step::fetch, "the content is not what was sent");
    const auto state = api_.state_of(file);
    if (state.has_value() && *state == "acked") return passed(Step::fetch, "the agent that runs here was faster");
    return failed(Step::fetch, answer.error().sentence);
  }

  bool ack(FileId file) {
    const auto acked = api_.ack(file);
    if (acked.has_error() && acked.error().status != 404) return failed(Step::ack, acked.error().sentence);
    const auto state = api_.state_of(file);
    if (state.has_error()) return failed(Step::ack, state.error().sentence);
    if (*state != "acked") return failed(Step::ack, "the server calls the file " + *state + " after the ack");
    return passed(Step::ack, "the server knows that it was taken");
  }

  const Settings& settings_;
  const std::string& sender_;
  const StateView& state_view_;
  const std::function<void(const SelfTestStep&)>& on_step_;
  ApiClient api_;
  std::string workspace_;
  std::string name_, bytes_;
  std::optional<FileId> file_;
  bool staged_for_us_ = false;
  int polls_ = 0;
};

}  // namespace

bool run_self_test(const Settings& settings, const std::string& sender, const StateView& state_view,
                   const std::function<void(const SelfTestStep&)>& on_step) {
  return SelfTest(settings, sender, state_view, on_step).run();
}

bool is_self_test(const ReceivedRow& row, const std::string& workspace) {
  if (row.source_id && *row.source_id != workspace) return false;
  if (row.method == "chat_upload_receive") return row.request_body.text("name").starts_with(kSelfTestName);
  return row.source_id && message_member(row.request_body, "metadata").flag(kSelfTestMember);
}

}  // namespace restante::agent
