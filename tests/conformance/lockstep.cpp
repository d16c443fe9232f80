#include "lockstep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"

namespace restante::testing {

void LockstepProgram::run(int steps) {
  for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    // Mostly forward, sometimes back, as clocks do.
    now_ += std::chrono::milliseconds(one_in(20) ? -pick(20'000) : pick(2000));
    step();
  }
  compare_everything();
}

int LockstepProgram::pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

WorkspaceId LockstepProgram::workspace() {
  if (workspaces_.empty() || one_in(30)) return WorkspaceId::make(now_);
  return workspaces_[static_cast<std::size_t>(pick(static_cast<int>(workspaces_.size())))];
}

std::optional<WorkspaceId> LockstepProgram::perhaps_workspace() {
  return one_in(2) ? std::optional<WorkspaceId>(workspace()) : std::nullopt;
}

FileId LockstepProgram::some_file() {
  if (model_.uploads.empty() || one_in(20)) return FileId::make(now_);
  return model_.uploads[static_cast<std::size_t>(pick(static_cast<int>(model_.uploads.size())))].id;
}

FileId LockstepProgram::some_outgoing_file() {
  std::vector<FileId> all;
  for (const auto& upload : model_.uploads) {
    if (upload.direction == UploadDirection::out) all.push_back(upload.id);
  }
  return all.empty() ? FileId::make(now_) : all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
}

WorkspaceId LockstepProgram::owner(FileId id) {
  for (const auto& upload : model_.uploads) {
    if (upload.id == id && !one_in(8)) return upload.workspace_id;
  }
  return workspace();
}

std::pair<TokenId, Digest> LockstepProgram::some_token() {
  if (model_.tokens.empty() || one_in(20)) return {TokenId::make(now_), sha256(word())};
  const auto& [token, hash] = model_.tokens[static_cast<std::size_t>(pick(static_cast<int>(model_.tokens.size())))];
  return {token.id, hash};
}

void LockstepProgram::step() {
  switch (pick(37)) {
    case 0:
      return create();
    case 1:
      return register_agent();
    case 2:
      return beat();
    case 3:
      return poll();
    case 4:
      return add_token();
    case 5:
      return revoke();
    case 6:
      return register_agent();
    case 7:
      return look_up();
    case 8:
    case 9:
    case 10:
      return append();
    case 11:
      return read();
    case 12:
      return stage();
    case 13:
      return fetch();
    case 14:
      return ack();
    case 15:
    case 16:
      return stage();
    case 17:
      return fail();
    case 18:
      return recall();
    case 19:
      return sweep();
    case 20:
    case 21:
      return send();
    case 22:
      return look_at_uploads();
    case 23:
      return damage();
    case 24:
    case 25:
    case 26:
      return delegate();
    case 27:
    case 28:
      return report();
    case 29:
      return beat_task();
    case 30:
      return pick_up();
    case 31:
      return sweep_tasks();
    case 32:
      return look_at_tasks();
    case 33:
    case 34:
      return move_blobs();
    case 35:
      return check_blobs();
    default:
      if (one_in(4)) store_.reset(), store_ = backend_.open();
  }
}

void LockstepProgram::compare_everything() {
  store_.reset();
  store_ = backend_.open();
  EXPECT_EQ(show(store_->list_workspaces()), model_.list());
  EXPECT_EQ(show(store_->list_tokens(std::nullopt)), model_.list(std::nullopt));
  EXPECT_EQ(store_->find_blob_check(), model_.blob_check);
  for (const auto id : workspaces_) {
    EXPECT_EQ(show(store_->list_tokens(id)), model_.list(id));
    InboxQuery all;
    all.since_seq = 0;
    all.limit = 1'000'000;
    EXPECT_EQ(show(store_->read_inbox(id, all)), model_.read(id, all));
    EXPECT_EQ(show(store_->list_waiting(id, {}, 1'000'000, now_)), model_.list_waiting(id, {}, 1'000'000, now_));
  }
  for (const auto& upload : model_.uploads) {
    const auto read = store_->read_upload(upload.workspace_id, upload.id);
    ASSERT_TRUE(read);
    EXPECT_EQ(show(*read) + " " + read->content, model_.read(upload.workspace_id, upload.id));
  }
  for (const auto& upload_status : model_.ended) {
    EXPECT_EQ(show(store_->find_upload_status(upload_status.upload.workspace_id, upload_status.upload.id, now_)),
              show(upload_status));
  }
  EXPECT_EQ(show(store_->upload_stats(now_)), model_.stats(now_));
  for (const auto& [id, record] : model_.delegations) {
    EXPECT_EQ(show(store_->read_delegation(id)), show(record));
  }
  const auto counts = store_->delegation_stats();
  EXPECT_EQ(fmt::format("{}", fmt::join(counts.counts, " ")), model_.delegation_figures());
}

}  // namespace restante::testing
