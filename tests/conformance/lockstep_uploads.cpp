#include "lockstep.h"

#include "base/text.h"

namespace restante::testing {

StagingTerms LockstepProgram::terms() {
  auto given = until(now_ + std::chrono::seconds(pick(60)));
  if (one_in(3)) given.staged_by = senders_[pick(2)];
  if (one_in(3)) given.quota.max_files = pick(20);
  if (one_in(3)) given.quota.max_bytes = pick(8000);
  return given;
}

Claim LockstepProgram::claim() { return {sha256(word()), sha256(word()), now_ + std::chrono::seconds(pick(60))}; }

void LockstepProgram::stage() {
  const auto id = workspace();
  std::vector<NewUpload> items;
  for (int i = pick(4); i > 0; --i) {
    items.push_back(one_in(2) ? some_blob() : small_file(word(), word() + word()));
  }
  auto given = terms();
  if (one_in(3)) given.direction = UploadDirection::out;
  if (one_in(4)) return stage_once(id, items, given);
  const auto result = store_->stage_uploads(id, items, given, now_).take();
  const auto expected = model_.stage(id, items, given, now_, result ? *result : std::vector<StagedUpload>());
  EXPECT_EQ(result ? show_files(*result) : std::string(result.error().code()), expected);
}

std::string LockstepProgram::show_files(const std::vector<StagedUpload>& files) {
  std::string out;
  for (const auto& one : files) out += show(one.upload) + "\n";
  return out;
}

void LockstepProgram::stage_once(WorkspaceId id, const std::vector<NewUpload>& items, const StagingTerms& given) {
  const auto under = claim();
  const ClaimedAnswer<std::vector<StagedUpload>> once{under, show_files};
  const auto result = store_->stage_uploads(id, items, given, now_, once).take();
  if (const auto claimed = model_.claimed(under, now_); claimed && !items.empty()) {
    EXPECT_EQ(show_claimed(result), *claimed);
    return;
  }
  const auto expected = model_.stage(id, items, given, now_, result ? *result : std::vector<StagedUpload>());
  EXPECT_EQ(result ? show_files(*result) : std::string(result.error().code()), expected);
  if (result && !items.empty()) model_.claim(under, expected);
}

void LockstepProgram::fetch() {
  const auto id = some_file();
  const auto at = owner(id);
  const auto result = store_->mark_fetched(at, id, now_).take();
  EXPECT_EQ(result ? "" : std::string(result.error().code()), model_.fetch(at, id, now_));
}

void LockstepProgram::ack() {
  const auto id = some_file();
  const auto at = owner(id);
  EXPECT_EQ(show(store_->ack_upload(at, id, now_).take()), model_.ack(at, id, now_));
}

void LockstepProgram::fail() {
  const auto id = some_file();
  const auto at = owner(id);
  const auto reason = word();
  EXPECT_EQ(show(store_->fail_upload(at, id, reason, now_).take()), model_.fail(at, id, reason, now_));
}

void LockstepProgram::damage() {
  // Rarely, otherwise soon every file would be damaged.
  if (!one_in(4)) return;
  const auto id = one_in(3) ? some_outgoing_file() : some_file();
  const auto at = owner(id);
  const auto how = one_in(2) ? UploadDamage::changed : UploadDamage::missing;
  EXPECT_EQ(show(store_->mark_damaged(at, id, how, now_).take()), model_.damage(at, id, how, now_));
}

void LockstepProgram::recall() {
  const auto id = some_file();
  const auto at = owner(id);
  const auto by = one_in(2) ? std::optional<TokenId>(senders_[pick(2)]) : std::nullopt;
  EXPECT_EQ(show(store_->recall_upload(at, id, by, now_).take()), model_.recall(at, id, by, now_));
}

void LockstepProgram::sweep() {
  const std::chrono::seconds retention(pick(60));
  const int limit = pick(8);
  EXPECT_EQ(show(store_->sweep_uploads(retention, limit, now_).take()), model_.sweep(retention, limit, now_));
  const Time remote_before = now_ - std::chrono::seconds(pick(60));
  const auto dropped = store_->list_dropped_blobs(1'000'000, remote_before, "");
  EXPECT_EQ(dropped, model_.list_dropped(remote_before));
  if (!one_in(4)) return;
  EXPECT_TRUE(store_->forget_dropped_blobs(dropped).take());
  for (const auto& key : dropped) model_.dropped.erase(key);
}

void LockstepProgram::look_at_uploads() {
  const auto file = some_file();
  const auto at = owner(file);
  const auto read = store_->read_upload(at, file);
  EXPECT_EQ(read ? show(*read) + " " + read->content : std::string(read.error().code()), model_.read(at, file));
  EXPECT_EQ(show(store_->find_upload_status(at, file, now_)), model_.upload_status(at, file, now_));
  EXPECT_EQ(show(store_->upload_stats(now_)), model_.stats(now_));
  UploadFilter filter;
  filter.group = static_cast<UploadGroup>(pick(8));
  if (one_in(2)) filter.workspace = at;
  if (one_in(3)) filter.expires_before = now_ + std::chrono::seconds(pick(60));
  if (one_in(3)) filter.after = file;
  filter.limit = pick(10);
  EXPECT_EQ(show(store_->list_uploads(filter, now_)), model_.list_uploads(filter, now_));
  EXPECT_EQ(show(store_->walk_uploads(filter.after, filter.limit)), model_.walk(filter.after, filter.limit));
}

}  // namespace restante::testing
