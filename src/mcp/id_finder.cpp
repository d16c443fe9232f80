#include "mcp/id_finder.h"

namespace restante::mcp {
namespace {

// Longer ones are not ids that anyone uses, and are not kept.
constexpr std::size_t kLongestToken = 1024;
constexpr std::size_t kMostIds = 1000;

// A string or a number; no value for anything else.
std::optional<Json> read_id(const std::string& token) {
  if (token.size() > kLongestToken) return {};
  auto json = parse_json(token);
  if (!json.has_value() || (!json->if_string() && !json->if_number())) return {};
  return std::move(*json);
}

}  // namespace

void IdFinder::add(std::string_view bytes) {
  for (const char c : bytes) in_string_ ? add_to_string(c) : add_outside_string(c);
}

void IdFinder::add_to_string(char c) {
  if (token_.size() <= kLongestToken) token_ += c;
  if (std::exchange(escaped_, false)) return;
  if (c == '\\') escaped_ = true;
  if (c == '"') end_string();
}

void IdFinder::add_outside_string(char c) {
  switch (c) {
    case '"':
      end_number();
      in_string_ = true;
      token_ = c;
      return;
    case '{':
    case '[':
      end_number();
      if (depth_++ == 0) top_ = c;
      if (c == '{' && depth_ == level()) message_.emplace();
      return;
    case '}':
    case ']':
      end_number();
      if (current()) end_message();
      if (depth_ > 0) --depth_;
      return;
    case ',':
      end_number();
      if (auto* message = current()) message->key_is_next = true;
      return;
    case ':':
      if (auto* message = current()) message->key_is_next = false;
      return;
    case ' ':
    case '\t':
    case '\r':
      end_number();
      return;
    default:
      if (!in_number_) token_.clear();
      in_number_ = true;
      if (token_.size() <= kLongestToken) token_ += c;
  }
}

void IdFinder::end_string() {
  in_string_ = false;
  auto* message = current();
  if (!message) return;
  if (!message->key_is_next) {
    if (message->key == "\"id\"") message->id = read_id(token_);
    return;
  }
  message->key = token_;
  message->method = message->method || token_ == "\"method\"";
  message->id_keys += token_ == "\"id\"" ? 1 : 0;
}

void IdFinder::end_number() {
  auto* message = current();
  if (std::exchange(in_number_, false) && message && !message->key_is_next && message->key == "\"id\"")
    message->id = read_id(token_);
}

void IdFinder::end_message() {
  if (message_->is_request() && ids_.size() < kMostIds) ids_.push_back(std::move(*message_->id));
  message_.reset();
}

std::vector<Json> IdFinder::ids() const {
  auto all = ids_;
  if (message_ && message_->is_request()) all.push_back(*message_->id);
  return all;
}

}  // namespace restante::mcp
