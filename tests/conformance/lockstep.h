// LockstepProgram runs random verbs on a plain model and on a store, which is closed and opened again at random. Every
// answer must be the same; a difference fails the test that runs it.
#pragma once
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends.h"
#include "plain_model.h"

namespace restante::testing {

class LockstepProgram {
 public:
  LockstepProgram(Backend& backend, std::uint64_t seed) : backend_(backend), random_(seed), store_(backend.open()) {}

  // So many verbs, or fewer once something differs; then everything is compared.
  void run(int steps);

 private:
  void step();
  void compare_everything();

  int pick(int below);
  bool one_in(int n) { return pick(n) == 0; }
  std::string word() { return std::string(1, static_cast<char>('a' + pick(4))); }
  // Mostly something that exists; sometimes something unknown.
  WorkspaceId workspace();
  std::optional<WorkspaceId> perhaps_workspace();
  FileId some_file();
  FileId some_outgoing_file();
  // Mostly the owner; sometimes another workspace.
  WorkspaceId owner(FileId id);
  std::pair<TokenId, Digest> some_token();

  // Workspaces and tokens, in lockstep_registry.cpp.
  void create();
  void register_agent();
  void beat();
  void poll();
  NewToken new_token();
  void take_over(const NewToken& given, const Result<Token>& added);
  void add_token();
  void revoke();
  void look_up();

  // Messages and the files sent with them, in lockstep_inbox.cpp.
  void append();
  void read();
  static std::string show_sent(const SentMessage& sent);
  void send();
  void send_once(WorkspaceId id, const NewInboxRow& given, const std::vector<OutgoingFile>& files,
                 const StagingTerms& conditions);

  // Uploads, in lockstep_uploads.cpp.
  StagingTerms terms();
  // Few scopes and requests, so that they collide.
  Claim claim();
  // As the model's claimed() shows it.
  template <class T>
  static std::string show_claimed(const Result<T>& result) {
    if (result) return "made";
    const auto earlier = earlier_answer(result.error());
    return earlier ? "replay " + *earlier : std::string(result.error().code());
  }
  void stage();
  static std::string show_files(const std::vector<StagedUpload>& files);
  void stage_once(WorkspaceId id, const std::vector<NewUpload>& items, const StagingTerms& given);
  void fetch();
  void ack();
  void fail();
  void damage();
  void recall();
  void sweep();
  void look_at_uploads();

  // Blob moves, in lockstep_blob_moves.cpp. some_blob(): a new file in one place, or in two, with new keys.
  NewUpload some_blob();
  void move_blobs();
  static std::set<std::string> listed(const std::vector<MovingBlob>& blobs);

  // In lockstep_blob_checks.cpp.
  void check_blobs();

  // Delegations, in lockstep_delegations.cpp.
  std::string some_task();
  // Mostly the one who may.
  WorkspaceId party(const std::string& task, DelegationActor as);
  void delegate();
  void report();
  void beat_task();
  void pick_up();
  void sweep_tasks();
  void look_at_tasks();

  Backend& backend_;
  std::mt19937_64 random_;
  std::unique_ptr<Store> store_;
  PlainModel model_;
  std::vector<WorkspaceId> workspaces_;
  const TokenId senders_[2] = {TokenId::make(at(0)), TokenId::make(at(0))};
  Time now_ = at(0);
};

}  // namespace restante::testing
