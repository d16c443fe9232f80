#include "desk/delegations/delegation_events.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace restante::desk {
namespace {

std::string facts_of(const Delegation& delegation) {
  return json_object([&](JsonWriter& out) {
    out.member("delegation_id", delegation.id);
    out.member("status", name_of(delegation.status));
    out.member("caller_id", delegation.caller_id.text());
    out.member("target_id", delegation.callee_id.text());
    out.member_if("progress", delegation.progress);
  });
}

double age_of(const Delegation& ended) {
  return std::max(0.0, std::chrono::duration<double>(*ended.finished_at - ended.created_at).count());
}

}  // namespace

void DelegationEvents::publish_rows(const std::vector<AppendedRow>& rows, const std::vector<StagedUpload>& files) {
  for (const StagedUpload& file : files) uploads_.staged(file);
  for (const AppendedRow& row : rows) event_bus_.appended(row.workspace, row.at);
}

void DelegationEvents::log_event(std::string_view event, const Delegation& delegation) {
  log_.info(event, {{"delegation_id", delegation.id},
                    {"caller_id", delegation.caller_id.text()},
                    {"workspace_id", delegation.callee_id.text()},
                    {"status", name_of(delegation.status)}});
}

// This is no row of the caller's inbox, so it is only published live.
void DelegationEvents::publish_status(const Delegation& delegation) {
  event_bus_.publish(delegation.caller_id, "DELEGATION_STATUS", facts_of(delegation));
}

void DelegationEvents::opened(const OpenedDelegation& opened) {
  if (opened.hit) return;
  metrics_.delegation_steps(name_of(opened.delegation.status)).Increment();
  log_event("delegated", opened.delegation);
  publish_rows(opened.rows, opened.files);
}

void DelegationEvents::changed(const DelegationChange& change) {
  const Delegation& is = change.delegation;
  publish_rows(change.rows, change.files);
  if (change.outcome == DelegationOutcome::late) {
    metrics_.late_answers.Increment();
    log_event("delegation_late_answer", is);
    return;
  }
  if (change.outcome != DelegationOutcome::changed) return;
  // Still queued: it was appended to the inbox because the call to its callback failed.
  if (is.status == DelegationStatus::queued) return log_event("delegation_delivered", is);
  metrics_.delegation_steps(name_of(is.status)).Increment();
  log_event(fmt::format("delegation_{}", name_of(is.status)), is);
  if (is.status == DelegationStatus::dispatched) publish_status(is);
  if (is.finished_at) metrics_.delegation_age.Observe(age_of(is));
}

void DelegationEvents::progressed(const DelegationChange& change) {
  changed(change);
  if (change.outcome == DelegationOutcome::repeated) publish_status(change.delegation);
}

}  // namespace restante::desk
