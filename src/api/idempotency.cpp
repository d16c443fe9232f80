#include "api/idempotency.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/text.h"
#include "model/errors.h"

namespace restante::api {
namespace {

// The promise is 24 h from the answer; a request may take a while, and clocks may be set.
constexpr auto kKept = std::chrono::hours(25);
constexpr std::size_t kMaxKey = 255;

// Each part is preceded by its length, so that different lists of parts never give the same bytes.
Digest digest_of_parts(std::span<const std::string_view> parts) {
  Sha256 hash;
  for (const std::string_view part : parts) {
    hash.update(std::to_string(part.size()) + ':');
    hash.update(part);
  }
  return hash.finish();
}

std::string owner_of(const Principal& principal) {
  if (principal.is_admin()) return "admin";
  if (principal.role == Principal::Role::anonymous) return "anonymous";
  if (principal.role == Principal::Role::workspace) return "workspace " + principal.workspace_id->text();
  return "token " + principal.own_token()->text();
}

bool is_key(std::string_view text) {
  return !text.empty() && text.size() <= kMaxKey &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(hex_digit(hex[i]) * 16 + hex_digit(hex[i + 1]));
  }
  return bytes;
}

[[noreturn]] void unreadable() { throw Unavailable("a kept answer cannot be read"); }

const std::string& text_of(const Json* value) {
  if (!value || !value->if_string()) unreadable();
  return *value->if_string();
}

}  // namespace

Digest digest_of(const Json& body) { return sha256(desk::canonical_text(body)); }

std::string keep(const http::Response& answer) {
  const auto& body = std::get<std::string>(answer.content);
  return json_object([&](JsonWriter& out) {
    out.member("status", static_cast<std::int64_t>(answer.status));
    out.member("type", answer.content_type);
    out.array("headers", answer.headers, [&](const auto& header) {
      out.array(std::array{header.first, header.second}, [&](const auto& text) { out.string(text); });
    });
    // A callback may answer with any bytes; text columns accept only text.
    if (is_valid_utf8(body) && body.find('\0') == std::string::npos) {
      out.member("body", body);
    } else {
      out.member("hex", to_hex({reinterpret_cast<const std::uint8_t*>(body.data()), body.size()}));
    }
  });
}

http::Response replay(std::string_view kept) {
  const auto json = parse_json(kept);
  const Json* status = json ? json->find("status") : nullptr;
  const Json* headers = json ? json->find("headers") : nullptr;
  if (!status || !status->integer() || !headers || !headers->if_array()) unreadable();
  http::Response response;
  response.status = static_cast<int>(*status->integer());
  if (text_of(json->find("type")) == http::kJson) response.content_type = http::kJson;
  for (const Json& header : *headers->if_array()) {
    const auto* pair = header.if_array();
    if (!pair || pair->size() != 2) unreadable();
    response.headers.emplace_back(text_of(&pair->front()), text_of(&pair->back()));
  }
  const Json* hex = json->find("hex");
  response.content = hex ? from_hex(text_of(hex)) : text_of(json->find("body"));
  return response;
}

std::optional<http::Response> IdempotentRequest::enter(const http::Request& request) {
  const std::size_t given = request.header_count("Idempotency-Key");
  if (given == 0) return std::nullopt;
  const std::string_view key = request.header("Idempotency-Key");
  if (given > 1 || !is_key(key)) return answer(errors::bad_idempotency_key);
  // Ids mean the same row in any letter case.
  const std::string owner = owner_of(caller(request));
  const std::string id = lower_case(request.param("id"));
  const std::string_view parts[] = {owner, route_, id, key};
  Claim claim{digest_of_parts(parts), {}, context_->clock.now() + kKept};
  auto lock = context_->idempotency_locks.enter(claim.scope);
  if (!lock) return answer(lock.error());
  claim_ = claim;
  lock_ = std::move(*lock);
  return std::nullopt;
}

std::optional<http::Response> IdempotentRequest::look_up(const Digest& what) {
  if (!claim_) return std::nullopt;
  claim_->request = what;
  auto known = context_->idempotency_locks.find(*claim_);
  if (!known) return answer(known.error());
  if (!*known) return std::nullopt;
  return replay(**known);
}

std::optional<http::Response> IdempotentRequest::begin(const http::Request& request, const Json& body) {
  if (auto refused = enter(request)) return refused;
  if (claim_) {
    if (auto known = look_up(digest_of(body))) return known;
  }
  return refuse_without_room(*context_, request);
}

std::optional<http::Response> refuse_without_room(const Context& context, const http::Request& request) {
  if (!context.room) return std::nullopt;
  if (const auto room = context.room->check_rows(request.body.size()); !room) return answer(room.error());
  return std::nullopt;
}

}  // namespace restante::api
