#include "model/workspace_rules.h"

#include <utility>

#include "base/text.h"
#include "model/errors.h"

namespace restante {
namespace {

constexpr std::string_view kNoCallback = "remote:";

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// U+0000 to U+001F, U+007F, and U+0080 to U+009F, which have two bytes.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

}  // namespace

std::string callback_url(std::string url) {
  if (equal_ignoring_case(std::string_view(url).substr(0, kNoCallback.size()), kNoCallback)) url.clear();
  return url;
}

std::string tidy_name(std::string_view name) {
  std::string tidy;
  std::size_t characters = 0;
  while (!name.empty() && characters < kMostNameCharacters) {
    std::size_t length = 1;
    while (length < name.size() && is_continuation(name[length])) ++length;
    const std::string_view character = name.substr(0, length);
    name.remove_prefix(length);
    if (is_control(character)) continue;
    tidy += character;
    ++characters;
  }
  return tidy;
}

bool matches(const Workspace& workspace, std::string_view text) {
  const std::string wanted = lower_case(text);
  return lower_case(workspace.name).find(wanted) != std::string::npos ||
         lower_case(workspace.role).find(wanted) != std::string::npos;
}

Workspace made_of(const NewWorkspace& workspace, Time now) {
  Workspace made;
  made.id = workspace.id ? *workspace.id : WorkspaceId::make(now);
  made.name = workspace.name;
  made.role = workspace.role;
  made.parent_id = workspace.parent_id;
  made.delivery_mode = workspace.delivery_mode;
  made.url = workspace.url;
  made.created_at = made.updated_at = now;
  return made;
}

Token made_of(const NewToken& token, Time now) {
  Token made;
  made.id = TokenId::make(now);
  made.kind = token.kind;
  made.workspace_id = token.workspace_id;
  made.prefix = token.prefix;
  made.label = token.label;
  made.created_at = now;
  made.expires_at = token.expires_at;
  made.opened_by = token.opened_by;
  return made;
}

WorkspaceStatus seen(WorkspaceStatus status) {
  return status == WorkspaceStatus::degraded ? status : WorkspaceStatus::online;
}

std::optional<WorkspaceStatus> rated_status(std::optional<double> error_rate) {
  if (error_rate && *error_rate >= 0.5) return WorkspaceStatus::degraded;
  if (error_rate && *error_rate < 0.1) return WorkspaceStatus::online;
  return std::nullopt;
}

Result<Delivery> delivery_after(const CheckedRegistration& registration, const Workspace* known) {
  Delivery delivery{DeliveryMode::poll, registration.url};
  if (known && !registration.delivery_mode && delivery.url.empty()) delivery.url = known->url;
  const DeliveryMode by_url = delivery.url.empty() ? DeliveryMode::poll : DeliveryMode::push;
  const DeliveryMode usual = known && known->mode_is_set ? known->delivery_mode : by_url;
  delivery.mode = registration.delivery_mode.value_or(usual);
  if (delivery.mode == DeliveryMode::poll || !delivery.url.empty()) return delivery;
  return Error(errors::bad_field, {{"field", std::string("url")}})
      .with_sentence("delivery_mode push needs a url; agents without one register with delivery_mode poll");
}

void take_over(Workspace& workspace, const CheckedRegistration& registration, Delivery delivery, Time now) {
  workspace.delivery_mode = delivery.mode;
  workspace.mode_is_set = true;
  workspace.url = std::move(delivery.url);
  if (!registration.agent_card.empty()) workspace.agent_card = registration.agent_card;
  workspace.status = seen(workspace.status);
  workspace.last_heartbeat_at = now;
  workspace.updated_at = now;
}

void apply(Workspace& workspace, const WorkspacePatch& patch, Time now) {
  if (patch.name) workspace.name = *patch.name;
  if (patch.role) workspace.role = *patch.role;
  if (patch.url) workspace.url = *patch.url;
  if (patch.agent_card) workspace.agent_card = *patch.agent_card;
  if (patch.parent_id) workspace.parent_id = *patch.parent_id;
  if (patch.delivery_mode) workspace.delivery_mode = *patch.delivery_mode;
  workspace.updated_at = now;
}

bool may_redeem(const std::optional<Token>& enrolment, const NewToken& token, Time now) {
  return enrolment && enrolment->kind == TokenKind::enrolment && enrolment->live(now) &&
         (!enrolment->workspace_id || enrolment->workspace_id == token.workspace_id);
}

}  // namespace restante
