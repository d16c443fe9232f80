// PlainModel: what a Store should answer, on maps and vectors, written for clearness alone. Ids that a store makes
// itself are taken over from its answers. show() makes values comparable, and a difference readable.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "store/store.h"

namespace restante::testing {

std::string show(const Workspace& workspace);
std::string show(const Token& token);
std::string show(const Activity& activity);
std::string show(const Upload& upload);
template <class T>
std::string show(const std::vector<T>& all) {
  std::string out;
  for (const auto& one : all) out += show(one) + "\n";
  return out;
}
template <class T>
std::string show(const Result<T>& result) {
  return result ? show(*result) : std::string(result.error().code());
}

class PlainModel {
 public:
  // Empty when it goes well, else the error's code.
  std::string create(const Workspace& workspace);
  std::string enter(WorkspaceId id, DeliveryMode mode, const std::string& url, const std::string& card, Time now);
  std::string beat(WorkspaceId id, const Heartbeat& heartbeat, Time now);
  void poll(WorkspaceId id, Time now);
  std::string find(WorkspaceId id) const;
  std::string list() const;

  void add(const Token& token, const Digest& hash) { tokens.push_back({token, hash}); }
  bool revoke(TokenId id, Time now);
  std::string redeem(TokenId enrolment, const NewToken& token, Time now);
  std::string find(const Digest& hash) const;
  std::string list(std::optional<WorkspaceId> workspace) const;
  bool has_live_token(WorkspaceId workspace, Time now) const;

  // The row that is there already, or the seq the next one must get.
  std::string append(WorkspaceId workspace, const NewActivity& activity, Time now, const Appended& answered);
  std::string read(WorkspaceId workspace, const ActivityQuery& query) const;

  std::string stage(WorkspaceId workspace, const std::vector<NewUpload>& items, Time now, Time expires_at,
                    const std::vector<StagedUpload>& answered);
  std::string find(WorkspaceId workspace, FileId id) const;
  std::string list_waiting(WorkspaceId workspace, std::optional<FileId> after, int limit, Time now) const;
  std::string fetch(WorkspaceId workspace, FileId id, Time now);
  std::string ack(WorkspaceId workspace, FileId id, Time now);

  std::map<WorkspaceId, Workspace> workspaces;
  std::vector<std::pair<Token, Digest>> tokens;
  std::map<WorkspaceId, std::vector<Activity>> logs;
  std::vector<Upload> uploads;

 private:
  std::string living(WorkspaceId id) const;
  void push(WorkspaceId workspace, const NewActivity& activity, ActivityId id, Time now);
  Upload* own(WorkspaceId workspace, FileId id);
};

}  // namespace restante::testing
