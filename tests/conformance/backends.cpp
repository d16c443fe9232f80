#include "backends.h"

#include <stdexcept>

#include "base/json_writer.h"
#include "base/test_folder.h"
#include "postgres_server.h"
#include "store/postgres/schema/migrations.h"
#include "store/postgres/store.h"
#include "store/sqlite/store.h"
#include "walked.h"

namespace restante::testing {
namespace {

// Takes migrations back with `down()`, from the newest to the named one. `status()` lists them.
template <class GetStatus, class Down>
void down_to_before(const std::string& name, GetStatus status, Down down) {
  const auto is_applied = [&] {
    for (const auto& migration : status()) {
      if (migration.name == name) return migration.applied_at.has_value();
    }
    throw std::logic_error("no migration is called " + name);
  };
  while (is_applied()) down();
}

class SqliteBackend final : public Backend {
 public:
  std::unique_ptr<Store> open() override { return sqlite::open(file(), {.now = at(0)}); }
  std::unique_ptr<Store> open_before(const std::string& migration) override {
    sqlite::migrate_up(file(), at(0));
    down_to_before(
        migration, [this] { return sqlite::migration_status(file()); }, [this] { sqlite::migrate_down(file()); });
    return sqlite::open(file(), {.now = at(0), .migrate = false});
  }
  void wait_until_unused() override {}

 private:
  std::filesystem::path file() const { return directory_ / "restante.db"; }
  TestFolder directory_;
};

class PostgresBackend final : public Backend {
 public:
  std::unique_ptr<Store> open() override { return postgres::open(database_.url(), patient_options()); }
  std::unique_ptr<Store> open_before(const std::string& migration) override {
    postgres::Connection connection(endpoint_of(database_.url()));
    postgres::Migrations migrations(connection);
    down_to_before(migration, [&] { return migrations.status(); }, [&] { migrations.down(); });
    auto options = patient_options();
    options.migrate = false;
    return postgres::open(database_.url(), options);
  }
  void wait_until_unused() override {
    postgres::Connection connection(endpoint_of(database_.url()));
    wait_until_alone(connection);
  }

 private:
  PostgresDatabase database_{PostgresDatabase::Schema::complete};
};

}  // namespace

std::vector<BackendKind> all_backends() {
  return {{"Sqlite", [] { return std::make_unique<SqliteBackend>(); }},
          {"Postgres", [] { return std::make_unique<PostgresBackend>(); }}};
}

Time at(std::int64_t seconds) { return Time(std::chrono::seconds(1'767'225'600 + seconds)); }

void StoreTest::reopen() {
  store.reset();
  store = backend->open();
}

void StoreTest::remove(WorkspaceId id) { ASSERT_TRUE(store->remove_workspace(id, at(0)).take()); }

Workspace StoreTest::make_workspace(const std::string& name, Time now) {
  NewWorkspace workspace;
  workspace.name = name;
  return store->create_workspace(workspace, now).take().value();
}

Appended StoreTest::append(WorkspaceId workspace, const NewInboxRow& activity, Time now) {
  return store->append_to_inbox(workspace, activity, now).take().value();
}

StagedUpload StoreTest::stage(WorkspaceId workspace, const NewUpload& item, Time now, Time expires_at) {
  return store->stage_uploads(workspace, {item}, until(expires_at), now).take().value().at(0);
}

std::vector<InboxRow> StoreTest::read(WorkspaceId workspace, const InboxQuery& query) {
  return store->read_inbox(workspace, query).value();
}

std::vector<InboxRow> StoreTest::inbox_of(WorkspaceId workspace) {
  InboxQuery query;
  query.since_seq = 0;
  query.limit = 1'000'000;
  query.max_bytes = SIZE_MAX;
  return read(workspace, query);
}

CheckedRegistration registration_for(WorkspaceId workspace) {
  CheckedRegistration entry;
  entry.id = workspace;
  return entry;
}

StagingTerms until(Time expires_at) {
  StagingTerms terms;
  terms.expires_at = expires_at;
  return terms;
}

NewInboxRow message(const std::string& text, const std::string& message_id) {
  NewInboxRow activity;
  activity.activity_type = "a2a_receive";
  activity.method = "message/send";
  activity.summary = text;
  JsonWriter body;
  body.begin_object();
  body.member("text", text);
  body.end_object();
  activity.request_body = body.take();
  activity.message_id = message_id;
  return activity;
}

NewUpload file(const std::string& name, std::int64_t size) {
  NewUpload upload;
  upload.id = FileId::make(at(0));
  upload.name = name;
  upload.mimetype = "text/plain";
  upload.size = size;
  upload.sha256 = sha256(name);
  upload.blob_key = Uuid::make(at(0)).hex();
  return upload;
}

NewUpload small_file(const std::string& name, const std::string& content) {
  NewUpload upload = file(name, std::ssize(content));
  upload.blob_key.clear();
  upload.sha256 = sha256(content);
  upload.content = content;
  return upload;
}

}  // namespace restante::testing
