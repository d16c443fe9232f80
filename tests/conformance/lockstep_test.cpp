// Lockstep: one random program drives a plain model and a store, which is closed and opened again at random. Every
// answer must be the same. RESTANTE_SEED repeats a run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>

#include "backends.h"
#include "base/text.h"
#include "plain_model.h"

namespace restante::testing {
namespace {

class Program {
 public:
  Program(Backend& backend, std::uint64_t seed) : backend_(backend), random_(seed), store_(backend.open()) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      // Mostly forward, now and then back, as clocks do.
      now_ += std::chrono::milliseconds(one_in(20) ? -pick(20'000) : pick(2000));
      step();
    }
    compare_everything();
  }

 private:
  int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  bool one_in(int n) { return pick(n) == 0; }
  std::string word() { return std::string(1, static_cast<char>('a' + pick(4))); }
  WorkspaceId workspace() {
    if (workspaces_.empty() || one_in(30)) return WorkspaceId::make(now_);
    return workspaces_[static_cast<std::size_t>(pick(static_cast<int>(workspaces_.size())))];
  }
  std::optional<WorkspaceId> perhaps_workspace() {
    return one_in(2) ? std::optional<WorkspaceId>(workspace()) : std::nullopt;
  }
  FileId some_file() {
    if (model_.uploads.empty() || one_in(20)) return FileId::make(now_);
    return model_.uploads[static_cast<std::size_t>(pick(static_cast<int>(model_.uploads.size())))].id;
  }
  FileId some_outgoing_file() {
    std::vector<FileId> all;
    for (const auto& upload : model_.uploads) {
      if (upload.direction == UploadDirection::out) all.push_back(upload.id);
    }
    return all.empty() ? FileId::make(now_) : all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
  }
  // The owner, mostly; sometimes a stranger.
  WorkspaceId owner(FileId id) {
    for (const auto& upload : model_.uploads) {
      if (upload.id == id && !one_in(8)) return upload.workspace_id;
    }
    return workspace();
  }
  std::pair<TokenId, Digest> some_token() {
    if (model_.tokens.empty() || one_in(20)) return {TokenId::make(now_), sha256(word())};
    const auto& [token, hash] = model_.tokens[static_cast<std::size_t>(pick(static_cast<int>(model_.tokens.size())))];
    return {token.id, hash};
  }

  void step() {
    switch (pick(36)) {
      case 0:
        return create();
      case 1:
        return enter();
      case 2:
        return beat();
      case 3:
        return poll();
      case 4:
        return add_token();
      case 5:
        return revoke();
      case 6:
        return enter();
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
      default:
        if (one_in(4)) store_.reset(), store_ = backend_.open();
    }
  }

  void create() {
    if (workspaces_.size() >= 6 && !one_in(10)) return;
    NewWorkspace given;
    if (one_in(2)) given.id = workspace();
    given.name = word();
    given.role = word();
    given.parent_id = perhaps_workspace();
    given.delivery_mode = one_in(2) ? DeliveryMode::poll : DeliveryMode::push;
    given.url = one_in(2) ? "" : "https://" + word() + ".example";
    const auto made = store_->create_workspace(given, now_).take();
    Workspace expected;
    if (given.id) expected.id = *given.id;
    if (!given.id && made) expected.id = made->id;
    expected.name = given.name;
    expected.role = given.role;
    expected.parent_id = given.parent_id;
    expected.delivery_mode = given.delivery_mode;
    expected.url = given.url;
    expected.created_at = expected.updated_at = now_;
    const auto error = model_.create(expected);
    EXPECT_EQ(show(made), error.empty() ? show(expected) : error);
    if (error.empty()) workspaces_.push_back(expected.id);
  }

  void enter() {
    Entry entry = entry_to(one_in(6) ? WorkspaceId::make(now_) : workspace());
    if (one_in(3)) entry.create_as = word();
    entry.delivery_mode = one_in(2) ? DeliveryMode::poll : DeliveryMode::push;
    entry.url = word();
    if (one_in(2)) entry.agent_card = "{\"name\":\"" + word() + "\"}";
    entry.first_only = one_in(4);
    if (one_in(2)) {
      entry.token = new_token();
      entry.token->kind = TokenKind::workspace;
      if (one_in(2)) entry.enrolment = some_token().first;
    }
    const bool fresh = !model_.workspaces.contains(entry.id);
    const auto [error, given] = model_.enter(entry, now_);
    auto result = store_->enter_workspace(entry, now_).take();
    EXPECT_EQ(result ? show(Result<Workspace>(result->workspace)) : std::string(result.error().code()),
              error.empty() ? model_.find(entry.id) : error);
    if (!error.empty() || !result) return;
    if (fresh) workspaces_.push_back(entry.id);
    EXPECT_EQ(result->token.has_value(), given);
    if (!given || !result->token) return;
    entry.token->workspace_id = entry.id;
    take_over(*entry.token, *result->token);
  }

  void beat() {
    const auto id = workspace();
    Heartbeat heartbeat{pick(5), word(), std::nullopt, pick(1000)};
    if (!one_in(4)) heartbeat.error_rate = pick(10) / 10.0;
    const auto result = store_->beat_workspace(id, heartbeat, now_).take();
    EXPECT_EQ(result ? "" : std::string(result.error().code()), model_.beat(id, heartbeat, now_));
  }

  void poll() {
    std::vector<PollNote> polls;
    for (int i = pick(4); i > 0; --i) polls.push_back({workspace(), now_ - std::chrono::seconds(pick(5))});
    for (const PollNote& poll : polls) model_.poll(poll.id, poll.at);
    EXPECT_TRUE(store_->note_polls(polls).take());
  }

  NewToken new_token() {
    const auto fresh = make_token();
    constexpr TokenKind kKinds[] = {TokenKind::workspace, TokenKind::enrolment, TokenKind::sender, TokenKind::admin};
    NewToken given{kKinds[pick(4)], perhaps_workspace(), fresh.hash, fresh.prefix, word(), std::nullopt};
    if (one_in(2)) given.expires_at = now_ + std::chrono::seconds(pick(60));
    return given;
  }

  void take_over(const NewToken& given, const Result<Token>& added) {
    ASSERT_TRUE(added);
    const Token expected{added->id, given.kind, given.workspace_id, given.prefix, given.label,
                         now_,      {},         given.expires_at,   {},           given.opened_by};
    EXPECT_EQ(show(*added), show(expected));
    model_.add(expected, given.hash);
  }

  void add_token() {
    const auto given = new_token();
    take_over(given, store_->add_token(given, now_).take());
  }

  void revoke() {
    const auto id = some_token().first;
    EXPECT_EQ(store_->revoke_token(id, now_).take().value(), model_.revoke(id, now_));
  }

  void look_up() {
    const auto id = workspace();
    const auto found = store_->find_workspace(id);
    EXPECT_EQ(show(found), model_.find(id));
    const bool living = found && found->status != WorkspaceStatus::removed;
    EXPECT_EQ(store_->find_delivery(id).has_value(), living);
    EXPECT_EQ(store_->has_live_token(id, now_), model_.has_live_token(id, now_));
    const auto hash = some_token().second;
    const auto token = store_->find_token(hash);
    EXPECT_EQ(token ? show(*token) : "none", model_.find(hash));
    const auto file = some_file();
    const auto at = owner(file);
    EXPECT_EQ(show(store_->find_upload(at, file)), model_.find(at, file));
    const auto after = one_in(2) ? std::optional<FileId>(file) : std::nullopt;
    const int limit = pick(6);
    EXPECT_EQ(show(store_->list_waiting(at, after, limit, now_)), model_.list_waiting(at, after, limit, now_));
  }

  void append() {
    const auto id = workspace();
    NewActivity given;
    given.activity_type = one_in(3) ? "agent_log" : "a2a_receive";
    given.method = "message/send";
    given.summary = word();
    given.source_id = perhaps_workspace();
    given.target_id = perhaps_workspace();
    given.request_body = one_in(4) ? "" : "\"" + word() + "\"";
    given.response_body = one_in(2) ? "" : "\"" + word() + word() + "\"";
    given.status = one_in(4) ? "error" : "ok";
    given.error_detail = one_in(4) ? word() : "";
    if (one_in(2)) given.duration_ms = pick(100);
    if (one_in(2)) {
      // Few ids, sources and contents, so that repeats happen.
      given.activity_type = "a2a_receive";
      given.message_id = word();
      if (one_in(2)) given.source_id.reset();
    }
    const auto result = store_->append_activity(id, given, now_).take();
    const auto answered = result ? *result : Appended{};
    EXPECT_EQ(result ? answered.id.text() + " " + std::to_string(answered.seq) : std::string(result.error().code()),
              model_.append(id, given, now_, answered));
  }

  void read() {
    const auto id = workspace();
    const auto log = model_.logs.find(id);
    const int size = log == model_.logs.end() ? 0 : static_cast<int>(log->second.size());
    ActivityQuery query;
    if (one_in(2)) {
      query.since_seq = pick(size + 2);
    } else if (size > 0 && one_in(2)) {
      const auto& row = log->second[static_cast<std::size_t>(pick(size))];
      if (!row.id.uuid().is_zero()) query.since_id = row.id;
    } else if (one_in(2)) {
      query.above_seq = pick(size + 2);
    }
    if (one_in(4)) query.below_seq = pick(size + 2);
    if (one_in(4)) query.chat_only = true;
    if (one_in(3)) query.not_before = now_ - std::chrono::seconds(pick(100));
    if (one_in(3)) query.before = now_ - std::chrono::seconds(pick(100));
    if (one_in(3)) query.type = one_in(2) ? "chat_upload_receive" : "a2a_receive";
    if (one_in(3)) query.source = one_in(2) ? ActivityQuery::Source::canvas : ActivityQuery::Source::agent;
    if (one_in(4)) query.peer = workspace();
    query.limit = pick(20);
    if (one_in(3)) query.max_bytes = static_cast<std::size_t>(pick(50));
    EXPECT_EQ(show(store_->read_activity(id, query)), model_.read(id, query));
  }

  StagingTerms terms() {
    auto given = until(now_ + std::chrono::seconds(pick(60)));
    if (one_in(3)) given.staged_by = senders_[pick(2)];
    if (one_in(3)) given.quota.max_files = pick(20);
    if (one_in(3)) given.quota.max_bytes = pick(8000);
    return given;
  }
  // Few scopes and requests, so that they meet.
  Claim claim() { return {sha256(word()), sha256(word()), now_ + std::chrono::seconds(pick(60))}; }

  void stage() {
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

  static std::string show_files(const std::vector<StagedUpload>& files) {
    std::string out;
    for (const auto& one : files) out += show(one.upload) + "\n";
    return out;
  }

  void stage_once(WorkspaceId id, const std::vector<NewUpload>& items, const StagingTerms& given) {
    const auto under = claim();
    const auto result = store_->stage_uploads_once(id, items, given, under, show_files, now_).take();
    if (const auto claimed = model_.claimed(under, now_); claimed && !items.empty()) {
      EXPECT_EQ(result ? "replay " + result->replay : std::string(result.error().code()), *claimed);
      return;
    }
    const bool made = result && result->made;
    const auto expected = model_.stage(id, items, given, now_, made ? *result->made : std::vector<StagedUpload>());
    EXPECT_EQ(made ? show_files(*result->made) : std::string(result.error().code()), expected);
    if (made && !items.empty()) model_.claim(under, expected);
  }

  static std::string show_sent(const SentActivity& sent) {
    return sent.activity.id.text() + " " + std::to_string(sent.activity.seq) +
           (sent.activity.repeated ? " repeated\n" : " \n") + show_files(sent.files);
  }

  void send() {
    const auto id = workspace();
    std::vector<OutgoingFile> files;
    NewActivity given = message(word(), one_in(2) ? word() : "");
    given.request_body = "[";
    for (int i = pick(3); i > 0; --i) {
      const auto source = one_in(20) ? some_file() : some_outgoing_file();
      files.push_back({owner(source), source, FileId::make(now_)});
      given.request_body += "\"" + pending_uri(id, files.back().id) + "\",";
    }
    given.request_body += "null]";
    const auto conditions = terms();
    if (one_in(4)) return send_once(id, given, files, conditions);
    const auto result = store_->append_activity_with_files(id, given, files, conditions, now_).take();
    EXPECT_EQ(result ? show_sent(*result) : std::string(result.error().code()),
              model_.send(id, given, files, conditions, now_, result ? *result : SentActivity()));
  }

  void send_once(WorkspaceId id, const NewActivity& given, const std::vector<OutgoingFile>& files,
                 const StagingTerms& conditions) {
    const auto under = claim();
    const auto result =
        store_->append_activity_with_files_once(id, given, files, conditions, under, show_sent, now_).take();
    if (const auto claimed = model_.claimed(under, now_)) {
      EXPECT_EQ(result ? "replay " + result->replay : std::string(result.error().code()), *claimed);
      return;
    }
    const bool made = result && result->made;
    const auto expected = model_.send(id, given, files, conditions, now_, made ? *result->made : SentActivity());
    EXPECT_EQ(made ? show_sent(*result->made) : std::string(result.error().code()), expected);
    if (made) model_.claim(under, expected);
  }

  void fetch() {
    const auto id = some_file();
    const auto at = owner(id);
    const auto result = store_->mark_fetched(at, id, now_).take();
    EXPECT_EQ(result ? "" : std::string(result.error().code()), model_.fetch(at, id, now_));
  }

  void ack() {
    const auto id = some_file();
    const auto at = owner(id);
    EXPECT_EQ(show(store_->ack_upload(at, id, now_).take()), model_.ack(at, id, now_));
  }

  void fail() {
    const auto id = some_file();
    const auto at = owner(id);
    const auto reason = word();
    EXPECT_EQ(show(store_->fail_upload(at, id, reason, now_).take()), model_.fail(at, id, reason, now_));
  }

  void damage() {
    // Seldom, or soon nothing would be sound any more.
    if (!one_in(4)) return;
    const auto id = one_in(3) ? some_outgoing_file() : some_file();
    const auto at = owner(id);
    const auto how = one_in(2) ? UploadDamage::changed : UploadDamage::missing;
    EXPECT_EQ(show(store_->mark_damaged(at, id, how, now_).take()), model_.damage(at, id, how, now_));
  }

  void recall() {
    const auto id = some_file();
    const auto at = owner(id);
    const auto by = one_in(2) ? std::optional<TokenId>(senders_[pick(2)]) : std::nullopt;
    EXPECT_EQ(show(store_->recall_upload(at, id, by, now_).take()), model_.recall(at, id, by, now_));
  }

  void sweep() {
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

  // In one place, or in two, with a key of its own.
  NewUpload some_blob() {
    auto item = file(word() + ".txt", 1 + pick(1000));
    item.blob_key = key_in(kPlaces[static_cast<std::size_t>(pick(3))], item.blob_key);
    if (one_in(3)) item.twin_key = key_in(kPlaces[static_cast<std::size_t>(pick(3))], Uuid::make(now_).hex());
    return item;
  }

  void move_blobs() {
    for (const Place place : kPlaces) {
      for (const KeyRole role : {KeyRole::first, KeyRole::twin}) {
        EXPECT_EQ(listed(store_->list_blobs(role, place, "", 1'000'000)), model_.list_blobs(role, place));
      }
    }
    EXPECT_EQ(store_->count_blobs(), model_.count_blobs());
    const auto page = store_->list_blobs(KeyRole::first, kPlaces[static_cast<std::size_t>(pick(3))], "", 1 + pick(4));
    std::vector<BlobChange> changes;
    for (const auto& blob : page) {
      const std::string fresh = key_in(kPlaces[static_cast<std::size_t>(pick(3))], Uuid::make(now_).hex());
      const BlobKeys& was = blob.keys;
      if (was.twin.empty() || one_in(4)) {
        changes.push_back({was, {fresh, one_in(2) ? was.key : std::string()}});
      } else {
        changes.push_back(
            {was, one_in(2) ? BlobKeys{was.twin, was.key} : BlobKeys{one_in(2) ? was.key : was.twin, {}}});
      }
      if (one_in(8)) changes.back().was.twin = "s3:" + Uuid::make(now_).hex();  // as it is no longer
    }
    std::int64_t rows = 0;
    for (const auto& change : changes) rows += model_.place(change, now_);
    EXPECT_EQ(store_->place_blobs(changes, now_).take().value(), rows);
  }

  static std::set<std::string> listed(const std::vector<MovingBlob>& blobs) {
    std::set<std::string> all;
    for (const auto& blob : blobs) {
      all.insert(blob.keys.key + " " + blob.keys.twin + " " + std::to_string(blob.size) + to_hex(blob.sha256));
    }
    return all;
  }

  void look_at_uploads() {
    const auto file = some_file();
    const auto at = owner(file);
    const auto read = store_->read_upload(at, file);
    EXPECT_EQ(read ? show(*read) + " " + read->content : std::string(read.error().code()), model_.read(at, file));
    EXPECT_EQ(show(store_->find_upload_story(at, file, now_)), model_.story(at, file, now_));
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

  std::string some_task() {
    if (model_.delegations.empty() || one_in(15)) return "t" + std::to_string(pick(2000));
    auto found = model_.delegations.begin();
    std::advance(found, pick(static_cast<int>(model_.delegations.size())));
    return found->first;
  }
  // Who may, mostly.
  WorkspaceId party(const std::string& task, DelegationActor as) {
    const auto found = model_.delegations.find(task);
    if (found == model_.delegations.end() || one_in(8)) return workspace();
    return as == DelegationActor::caller ? found->second.delegation.caller_id : found->second.delegation.callee_id;
  }

  void delegate() {
    NewDelegation wanted;
    wanted.id = one_in(12) ? some_task() : "t" + std::to_string(pick(2000));
    wanted.caller_id = workspace();
    wanted.callee_id = workspace();
    wanted.task = word() + word();
    if (one_in(3)) wanted.idempotency_key = word();
    wanted.deadline = now_ + std::chrono::seconds(1 + pick(200));
    if (one_in(4)) wanted.retry_of = some_task();
    if (one_in(4)) wanted.parent_id = some_task();
    wanted.recorded = one_in(6);
    wanted.to_inbox = !one_in(6);
    wanted.limits = {one_in(3) ? 1 + pick(3) : 0, one_in(4) ? pick(12) : 0, one_in(4) ? pick(5) : 0,
                     one_in(4) ? pick(12) : 0};
    wanted.terms = terms();
    if (one_in(3) && model_.workspaces.contains(wanted.caller_id)) {
      wanted.attachments.push_back({wanted.caller_id, some_outgoing_file(), FileId::make(now_)});
      wanted.files = R"([{"uri":")" + pending_uri(wanted.callee_id, wanted.attachments[0].id) + R"(","name":"n"}])";
    }
    const auto result = store_->open_delegation(wanted, now_).take();
    EXPECT_EQ(show(result), model_.open(wanted, now_));
  }

  void report() {
    const auto id = some_task();
    DelegationReport said;
    said.by = one_in(3) ? DelegationActor::caller : DelegationActor::callee;
    if (one_in(10)) said.by = DelegationActor::platform;
    constexpr DelegationStatus kSaid[] = {DelegationStatus::in_progress, DelegationStatus::completed,
                                          DelegationStatus::failed, DelegationStatus::stuck};
    said.status = kSaid[said.by == DelegationActor::platform ? 3 : pick(3)];
    said.text = one_in(4) ? "" : word();
    said.terms = terms();
    const auto who = party(id, said.by);
    if (one_in(4)) {
      const auto source = some_outgoing_file();
      said.attachments.push_back({owner(source), source, FileId::make(now_)});
      said.files = "[]";
    }
    const auto result = store_->advance_delegation(who, id, said, now_).take();
    EXPECT_EQ(show(result), model_.advance(who, id, said, now_));
  }

  void beat_task() {
    const auto id = some_task();
    const auto who = party(id, DelegationActor::callee);
    const auto progress = one_in(2) ? std::optional<std::string>(word()) : std::nullopt;
    EXPECT_EQ(show(store_->beat_delegation(who, id, progress, now_).take()), model_.beat(who, id, progress, now_));
  }

  void pick_up() {
    std::vector<WorkspaceId> callees;
    for (const auto& id : workspaces_) {
      if (one_in(2)) continue;
      const std::int64_t seq = pick(static_cast<int>(model_.logs[id].size()) + 2);
      EXPECT_TRUE(store_->ack_activity(id, seq).take());
      model_.ack_log(id, seq);
      callees.push_back(id);
    }
    SweptDelegations picked;
    picked.changes = store_->pick_up_delegations(callees, now_).take().value();
    EXPECT_EQ(show(picked), model_.pick_up(callees, now_));
    const auto id = some_task();
    EXPECT_EQ(show(store_->deliver_delegation(id, now_).take()), model_.deliver(id, now_));
  }

  void sweep_tasks() {
    const auto silent = now_ - std::chrono::seconds(pick(60));
    const auto undelivered = now_ - std::chrono::seconds(pick(60));
    const auto swept = store_->sweep_delegations(silent, undelivered, 1'000'000, now_).take().value();
    EXPECT_EQ(show(swept), model_.sweep_delegations(silent, undelivered, now_, swept));
    EXPECT_FALSE(swept.more);
  }

  void look_at_tasks() {
    const auto id = some_task();
    EXPECT_EQ(show(store_->read_delegation(id)), model_.find_delegation(id));
    DelegationFilter filter;
    if (one_in(2)) filter.workspace = workspace();
    filter.direction = static_cast<DelegationFilter::Direction>(pick(3));
    if (filter.workspace && filter.direction != DelegationFilter::Direction::any && one_in(3)) {
      filter.peer = workspace();
    }
    if (one_in(2)) filter.status = kDelegationStatuses[pick(6)];
    if (!filter.status) filter.in_flight = !filter.workspace || one_in(2);
    filter.limit = pick(20);
    const auto listed = store_->list_delegations(filter);
    EXPECT_EQ(show(listed), model_.list_delegations(filter));
    const auto waits = store_->delegation_waits(listed);
    ASSERT_EQ(waits.size(), listed.size());
    for (std::size_t i = 0; i < waits.size(); ++i) {
      const DelegationWait expected = model_.wait_of(listed[i]);
      EXPECT_EQ(waits[i].ahead, expected.ahead);
      EXPECT_EQ(waits[i].missing_file, expected.missing_file);
    }
    const auto counts = store_->delegation_stats();
    EXPECT_EQ(fmt::format("{}", fmt::join(counts.counts, " ")), model_.delegation_figures());
  }

  void compare_everything() {
    store_.reset();
    store_ = backend_.open();
    EXPECT_EQ(show(store_->list_workspaces()), model_.list());
    EXPECT_EQ(show(store_->list_tokens(std::nullopt)), model_.list(std::nullopt));
    for (const auto id : workspaces_) {
      EXPECT_EQ(show(store_->list_tokens(id)), model_.list(id));
      ActivityQuery all;
      all.since_seq = 0;
      all.limit = 1'000'000;
      EXPECT_EQ(show(store_->read_activity(id, all)), model_.read(id, all));
      EXPECT_EQ(show(store_->list_waiting(id, {}, 1'000'000, now_)), model_.list_waiting(id, {}, 1'000'000, now_));
    }
    for (const auto& upload : model_.uploads) {
      const auto read = store_->read_upload(upload.workspace_id, upload.id);
      ASSERT_TRUE(read);
      EXPECT_EQ(show(*read) + " " + read->content, model_.read(upload.workspace_id, upload.id));
    }
    for (const auto& story : model_.ended) {
      EXPECT_EQ(show(store_->find_upload_story(story.upload.workspace_id, story.upload.id, now_)), show(story));
    }
    EXPECT_EQ(show(store_->upload_stats(now_)), model_.stats(now_));
    for (const auto& [id, record] : model_.delegations) {
      EXPECT_EQ(show(store_->read_delegation(id)), show(record));
    }
    const auto counts = store_->delegation_stats();
    EXPECT_EQ(fmt::format("{}", fmt::join(counts.counts, " ")), model_.delegation_figures());
  }

  Backend& backend_;
  std::mt19937_64 random_;
  std::unique_ptr<Store> store_;
  PlainModel model_;
  std::vector<WorkspaceId> workspaces_;
  const TokenId senders_[2] = {TokenId::make(at(0)), TokenId::make(at(0))};
  Time now_ = at(0);
};

class Lockstep : public ::testing::TestWithParam<BackendKind> {};
RESTANTE_EVERY_BACKEND(Lockstep);

TEST_P(Lockstep, RandomProgramsAnswerAsThePlainModelDoes) {
  const char* given = std::getenv("RESTANTE_SEED");
  const std::uint64_t first = given ? std::stoull(given) : std::random_device()();
  const int programs = given ? 1 : 5;
  for (int i = 0; i < programs && !HasFailure(); ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    std::cout << "RESTANTE_SEED=" << seed << std::endl;
    SCOPED_TRACE("RESTANTE_SEED=" + std::to_string(seed));
    const auto backend = GetParam().make();
    Program(*backend, seed).run(700);
  }
}

}  // namespace
}  // namespace restante::testing
