// Short forms for tests of delegations on a store. For tests/conformance only.
#pragma once
#include "backends.h"
#include "model/errors.h"

namespace restante::testing {

using Status = DelegationStatus;

class DelegationTest : public StoreTest {
 protected:
  NewDelegation task(const std::string& id, const std::string& text = "do it") const {
    NewDelegation wanted;
    wanted.id = id;
    wanted.caller_id = caller;
    wanted.callee_id = callee;
    wanted.task = text;
    wanted.deadline = at(21'600);
    wanted.terms = until(at(86'400));
    return wanted;
  }
  Result<OpenedDelegation> try_open(const NewDelegation& wanted, Time now = at(1)) {
    return store->open_delegation(wanted, now).take();
  }
  OpenedDelegation open(const NewDelegation& wanted, Time now = at(1)) { return try_open(wanted, now).value(); }
  static DelegationReport make_report(Status status, const std::string& text = "said",
                                      DelegationActor by = DelegationActor::callee) {
    DelegationReport report;
    report.status = status;
    report.text = text;
    report.by = by;
    report.terms = until(at(86'400));
    return report;
  }
  Result<DelegationChange> try_report(const std::string& id, DelegationReport report, Time now = at(10)) {
    const WorkspaceId who = report.by == DelegationActor::caller ? caller : callee;
    return store->advance_delegation(who, id, std::move(report), now).take();
  }
  DelegationChange report(const std::string& id, Status status, const std::string& text = "said", Time now = at(10)) {
    return try_report(id, make_report(status, text), now).value();
  }
  DelegationChange beat(const std::string& id, Time now, std::optional<std::string> progress = {}) {
    return store->beat_delegation(callee, id, std::move(progress), now).take().value();
  }
  DelegationChange cancel(const std::string& id, Time now = at(10)) {
    return try_report(id, make_report(Status::failed, "cancelled by caller", DelegationActor::caller), now).value();
  }
  SweptDelegations sweep(Time now, std::int64_t stuck_after = 600, int limit = 100) {
    const Time before = now - std::chrono::seconds(stuck_after);
    return store->sweep_delegations(before, before, limit, now).take().value();
  }
  Delegation find(const std::string& id) { return store->find_delegation(id).value(); }
  DelegationRecord read_task(const std::string& id) { return store->read_delegation(id).value(); }
  Status status_of(const std::string& id) { return find(id).status; }
  // Brings a new task to this status by the usual steps.
  void bring_to(const std::string& id, Status status) {
    open(task(id));
    if (status == Status::dispatched || status == Status::stuck) beat(id, at(2));
    if (status == Status::in_progress) report(id, Status::in_progress, "", at(2));
    if (status == Status::completed || status == Status::failed) report(id, status, "first", at(3));
    if (status == Status::stuck) {
      EXPECT_EQ(try_report(id, make_report(Status::stuck, "silent", DelegationActor::platform), at(3))->outcome,
                DelegationOutcome::changed);
    }
    EXPECT_EQ(status_of(id), status);
  }
  std::vector<InboxRow> results_of(const std::string& id) { return results_of(id, caller); }
  std::vector<InboxRow> results_of(const std::string& id, WorkspaceId inbox_owner) {
    std::vector<InboxRow> found;
    for (auto& row : inbox_of(inbox_owner)) {
      if (row.method == "delegate_result" &&
          row.request_body.find("\"delegation_id\":\"" + id + "\"") != std::string::npos)
        found.push_back(row);
    }
    return found;
  }

  const WorkspaceId caller = make_workspace("caller").id;
  const WorkspaceId callee = make_workspace("callee").id;
  const WorkspaceId third = make_workspace("third").id;
};

}  // namespace restante::testing
