#include "loadgen/requests.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "loadgen/scenarios.h"

namespace loadgen {
namespace {

constexpr std::string_view kBoundary = "----loadgen7MA4YWxkTrZu0gW";
constexpr int kPage = 100;

std::string post(const std::string& workspace, const std::string& token, std::string_view path, std::string_view more,
                 std::size_t length) {
  return fmt::format(
      "POST /workspaces/{}/{} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n{}Content-Length: {}\r\n\r\n",
      workspace, path, token, more, length);
}

// The text between `before` and the next quote, from `from` on; empty when it is not there.
std::string_view quoted_after(std::string_view text, std::string_view before, std::size_t from = 0) {
  const auto start = text.find(before, from);
  if (start == std::string_view::npos) return {};
  const auto value = text.substr(start + before.size());
  return value.substr(0, value.find('"'));
}

}  // namespace

std::vector<Workspace> read_workspaces(const std::string& path) {
  std::ifstream file(path);
  std::vector<Workspace> all;
  for (std::string line; std::getline(file, line);) {
    Workspace one;
    std::istringstream words(line);
    words >> one.id >> one.token;
    if (!(words >> one.sender)) one.sender = one.token;
    all.push_back(one);
  }
  if (all.empty()) throw std::runtime_error("no workspaces in " + path);
  return all;
}

void send_upload(Client& client, const Workspace& to, const Content& content, std::size_t size) {
  const std::string unique = Content::unique();
  const std::string part = fmt::format(
      "--{}\r\nContent-Disposition: form-data; name=\"files\"; filename=\"file-{:.6}.bin\"\r\n"
      "Content-Type: application/octet-stream\r\n\r\n{}",
      kBoundary, unique, unique);
  std::string tail = fmt::format("\r\n--{}--\r\n", kBoundary);
  const std::string_view rest = content.rest(size);
  const std::string type = fmt::format("Content-Type: multipart/form-data; boundary={}\r\n", kBoundary);
  client.send(post(to.id, to.sender, "chat/uploads", type, part.size() + rest.size() + tail.size()) + part, rest,
              std::move(tail));
}

std::string send_put(Client& client, const std::string& folder, const Content& content, std::size_t size) {
  const std::string unique = Content::unique();
  std::string path = fmt::format("{}/{}", folder, unique);
  client.send(fmt::format("PUT {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", path, size, unique),
              content.rest(size), {});
  return path;
}

void send_fetch(Client& client, const std::string& path, const std::string& token, const Content& content,
                std::size_t size) {
  client.expect(&content, size);
  client.send(get(path, token));
}

void send_poll(Client& client, const Workspace& agent, const std::string& cursor) {
  const std::string since = cursor.empty() ? "&limit=1" : fmt::format("&since_id={}&limit={}", cursor, kPage);
  client.send(get(fmt::format("/workspaces/{}/activity?type=a2a_receive{}", agent.id, since), agent.token));
}

void send_ack(Client& client, const Workspace& agent, const std::string& file_id) {
  client.send(post(agent.id, agent.token, fmt::format("pending-uploads/{}/ack", file_id), {}, 0));
}

std::string content_path(const Workspace& agent, const std::string& file_id) {
  return fmt::format("/workspaces/{}/pending-uploads/{}/content", agent.id, file_id);
}

std::string file_id_in(std::string_view body) {
  const std::string_view uri = quoted_after(body, "platform-pending:");
  const auto slash = uri.find('/');
  if (slash == std::string_view::npos) throw std::runtime_error(fmt::format("no file in {:.300}", body));
  return std::string(uri.substr(slash + 1));
}

std::string last_id_in(std::string_view body) {
  constexpr std::string_view kId = R"("id":")";
  const auto last = body.rfind(kId);
  return last == std::string_view::npos ? std::string() : std::string(quoted_after(body, kId, last));
}

void require_status(const Reply& reply, int wanted, std::string_view what) {
  if (reply.status() != wanted)
    throw std::runtime_error(fmt::format("{}: status {}: {:.300}", what, reply.status(), reply.body()));
}

}  // namespace loadgen
