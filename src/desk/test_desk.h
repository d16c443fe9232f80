// TestDesk: the desk's classes on a separate real store, with a clock that only the test moves and a bell that
// remembers what rang. For tests of desk/ and api/ only.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/bell.h"
#include "base/test_clock.h"
#include "base/test_folder.h"
#include "desk/blob_checks/blob_check.h"
#include "desk/blob_moves/blob_moves.h"
#include "desk/delegations/delegations.h"
#include "desk/inbox/messages.h"
#include "desk/inbox/outgoing.h"
#include "desk/principals/idempotency.h"
#include "desk/principals/principals.h"
#include "desk/uploads/sweep.h"
#include "desk/uploads/uploads.h"
#include "desk/workspaces/presence.h"
#include "desk/workspaces/workspaces.h"
#include "store/dir/blobs.h"
#include "store/inline/blobs.h"
#include "store/places.h"
#include "store/sqlite/store.h"

namespace restante::desk {

inline constexpr Time kStart = Time(std::chrono::seconds(1'800'000'000));
inline const Principal kOperator{Principal::Role::admin, {}, {}, false};

class RecordingBell final : public Bell {
 public:
  void ring(std::string_view topic) override {
    if (ringing) ringing();
    const std::lock_guard lock(mutex_);
    rung_.emplace_back(topic);
    changed_.notify_all();
  }
  void ring_all() override { ring("*"); }
  void release() override { ring("release"); }
  // The topics that rang since the last call. Waits until there are at least so many, because a bell rings on the
  // writer thread.
  std::vector<std::string> rung(std::size_t at_least = 1) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return rung_.size() >= at_least; }));
    return std::exchange(rung_, {});
  }
  std::function<void()> ringing;  // for a test that must act in the middle of a ring

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> rung_;
};

// A descriptor for a log that is not read.
class DevNull {
 public:
  ~DevNull() { ::close(fd); }
  const int fd = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
};

struct TestDesk {
  explicit TestDesk(UploadRules upload_rules = {}, Place place = Place::dir)
      : new_bytes(place), rules(std::move(upload_rules)) {}

  WorkspaceId make_workspace(DeliveryMode mode = DeliveryMode::poll) {
    NewWorkspace wanted;
    wanted.name = "agent";
    wanted.delivery_mode = mode;
    wanted.url = mode == DeliveryMode::push ? "https://agent.example/" : "";
    return store->create_workspace(wanted, clock.now()).take()->id;
  }
  // Adds a token of that kind directly to the store.
  std::string give_token(TokenKind kind, std::optional<WorkspaceId> workspace, std::optional<Time> expires = {}) {
    FreshToken fresh = make_token();
    EXPECT_TRUE(store->add_token({kind, workspace, fresh.hash, fresh.prefix, "test", expires}, clock.now()).take());
    return fresh.secret;
  }
  void revoke(std::string_view secret) {
    const auto token = store->find_token(sha256(secret));
    ASSERT_TRUE(token);
    EXPECT_TRUE(store->revoke_token(token->id, clock.now()).take());
  }
  std::vector<InboxRow> inbox_of(WorkspaceId workspace) {
    InboxQuery query;
    query.since_seq = 0;
    auto rows = store->read_inbox(workspace, query);
    return rows ? *rows : std::vector<InboxRow>();
  }
  // All files in the blob directory, of any kind.
  std::size_t blob_files() const {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path() / "blobs")) {
      if (entry.is_regular_file()) ++files;
    }
    return files;
  }

  // Places with this one place.
  Places over(Blobs& bytes) { return Places({{Place::dir, bytes}}, {Place::dir, {}}, log, metrics); }

  TestFolder folder;
  ManualClock clock{kStart};
  DevNull dev_null;
  Log log{dev_null.fd, LogLevel::debug, clock};
  Metrics metrics{BuildInfo{"test", "test", "test"}};
  RecordingBell bell;
  EventBus event_bus{bell};
  std::unique_ptr<Store> store = sqlite::open(folder.path() / "test.db", sqlite::Options{clock.now()});
  std::unique_ptr<Blobs> blobs = dir::open(folder.path() / "blobs");
  std::unique_ptr<Blobs> chunks = inlined::open(store->chunks(), clock);
  const Place new_bytes;  // dir, which then is the only place; or inline
  Places places = new_bytes == Place::dir
                      ? over(*blobs)
                      : Places({{Place::dir, *blobs}, {Place::inlined, *chunks}}, {Place::inlined, {}}, log, metrics);
  std::string admin_secret = make_token().secret;
  UploadRules rules;
  Principals principals{*store, bell, clock, sha256(admin_secret)};
  Presence presence{*store, event_bus, clock, log, metrics};
  Workspaces workspaces{*store, presence, event_bus, clock, log};
  Messages messages{*store, event_bus, clock, log};
  IdempotencyLocks idempotency_locks{*store, clock};
  Uploads uploads{*store, places, event_bus, clock, log, metrics, rules};
  Outgoing outgoing{*store, uploads, messages, clock};
  Sweep sweep{*store, places, uploads.events(), clock, log, metrics, impatient()};
  BlobMoves blob_moves{*store, places, uploads.integrity(), clock, log, metrics, set_to(new_bytes)};
  BlobCheck blob_check{*store, places, uploads.integrity(), clock, log, metrics, unhurried()};
  Delegations delegations{*store, uploads, presence, event_bus, clock, log, metrics, DelegationRules()};

  static BlobMoveRules set_to(Place place) {
    BlobMoveRules move_rules;
    move_rules.setting = place;
    return move_rules;
  }
  // A tick ends only when nothing is left to do, however slow the disk is.
  static BlobCheckRules unhurried() {
    BlobCheckRules check_rules;
    check_rules.slice = std::chrono::hours(1);
    return check_rules;
  }
  static SweepRules impatient() {
    SweepRules sweep_rules;
    sweep_rules.patience = std::chrono::milliseconds(1);
    return sweep_rules;
  }
};

}  // namespace restante::desk
