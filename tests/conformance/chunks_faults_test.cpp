// Blobs in the database while the database fails: below SQLite a disk that is full or fails a sync, in PostgreSQL
// triggers that cause the failures. Whatever happens, a blob is complete or does not exist.
#include <gmock/gmock.h>

#include <cerrno>

#include "base/test_folder.h"
#include "blobs_suite.h"
#include "faults.h"
#include "postgres_server.h"
#include "store/inline/blobs.h"
#include "store/postgres/blobs/chunks.h"
#include "store/sqlite/store.h"

namespace restante::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

constexpr auto kCeiling = std::chrono::minutes(2);
const std::size_t kSize = 2 * kChunkBytes + 5;

class SqliteChunkFaults : public ::testing::Test {
 protected:
  void open() {
    blobs.reset();
    store.reset();
    store = sqlite::open(directory / "restante.db", {.now = clock.now()});
    blobs = inlined::open(store->chunks(), clock);
  }

  TestFolder directory;
  const SystemClock clock;
  std::unique_ptr<Store> store;
  std::unique_ptr<Blobs> blobs;
};

TEST_F(SqliteChunkFaults, AFullDiskFailsTheBlobAndWritesWorkAgainOnceThereIsRoom) {
  open();
  const auto before = put(*blobs, "before");
  {
    auto writer = blobs->put();
    writer->write(std::string(kChunkBytes + 1, 'x'));
    const Fault fault(Call::write, ENOSPC);
    EXPECT_THROW(
        {
          for (int i = 0; i < 3; ++i) writer->write(std::string(kChunkBytes, 'x'));
          writer->finish();
        },
        StorageFull);
    EXPECT_GT(fault.hits(), 0);
    EXPECT_NO_THROW(writer.reset()) << "dropping its chunks fails, too";
  }
  EXPECT_EQ(keys_of(*blobs), std::set<std::string>{before});
  blobs->drop_unfinished(Time::max());
  EXPECT_EQ(blobs->count_unfinished(Time::max()), 0u);
  const auto bytes = some_bytes(kSize);
  EXPECT_TRUE(content(*blobs->open(put(*blobs, bytes))) == bytes);
}

TEST_F(SqliteChunkFaults, ABlobThatCannotBeSyncedDoesNotExistNorAfterARestart) {
  open();
  const auto before = put(*blobs, "before");
  {
    const Fault fault(Call::sync, EIO);
    EXPECT_THROW(put(*blobs, some_bytes(kSize)), Unavailable);
    EXPECT_GT(fault.hits(), 0);
  }
  EXPECT_THROW(put(*blobs, "also when the disk seems well again"), Unavailable);
  open();
  EXPECT_EQ(keys_of(*blobs), std::set<std::string>{before});
  EXPECT_NO_THROW(blobs->check());
}

// Whichever read fails: an answer is right, or there is none.
TEST_F(SqliteChunkFaults, WhicheverReadFailsNothingWrongIsReadAndNoBlobIsTakenForMissing) {
  open();
  const auto bytes = some_bytes(20'000);
  const auto key = put(*blobs, bytes);
  int failures = 0;
  for (int skipped = 0, hits = 1; hits > 0; ++skipped) {
    open();
    std::string back(bytes.size(), '\0');
    const Fault fault(Call::read, EIO, skipped, 1);
    try {
      EXPECT_EQ(store->chunks().read(key, 0, 0, back), bytes.size()) << skipped;
      EXPECT_TRUE(back == bytes) << skipped;
    } catch (const Unavailable&) {
      ++failures;
    }
    hits = fault.hits();
  }
  EXPECT_GT(failures, 0);
  open();
  EXPECT_TRUE(content(*blobs->open(key)) == bytes);
}

class PostgresChunkFaults : public ::testing::Test {
 protected:
  PostgresChunkFaults() {
    // Long limits: a busy machine is slow and must not fail a test.
    postgres::WriteLane::Limits patient;
    patient.patience = patient.settling = kCeiling;
    for (int i = 0; i < 2; ++i) {
      chunks.add(std::make_unique<postgres::WriteLane>(endpoint(), Uuid::make(clock.now()), patient, read_cache,
                                                       primary, nullptr));
    }
  }
  postgres::ConnectionOptions endpoint() const {
    postgres::ConnectionOptions made;
    made.url = database.url();
    made.connect_timeout = made.statement_timeout = made.answer_timeout = kCeiling;
    return made;
  }
  void make_trigger(const std::string& when, const std::string& how, const std::string& statements) {
    outside.execute("CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + statements +
                    " RETURN NEW; END $$");
    outside.execute("CREATE " + when + " " + how + " FOR EACH ROW EXECUTE FUNCTION strike()");
  }
  // at_chunk(): runs before a chunk is inserted; at_commit(): while it is being committed.
  void at_chunk(const std::string& statements) {
    make_trigger("TRIGGER strike", "BEFORE INSERT ON blob_chunks", statements);
  }
  void at_commit(const std::string& statements) {
    make_trigger("CONSTRAINT TRIGGER strike", "AFTER INSERT ON blob_chunks DEFERRABLE INITIALLY DEFERRED", statements);
  }
  void at_blob(const std::string& statements) {
    make_trigger("TRIGGER strike", "BEFORE INSERT ON inline_blobs", statements);
  }
  void no_trigger() { outside.execute("DROP FUNCTION strike CASCADE"); }
  void end_all_sessions() {
    outside.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
        "pg_backend_pid()");
  }

  PostgresDatabase database{PostgresDatabase::Schema::complete};
  postgres::Connection outside{endpoint()};
  const SystemClock clock;
  postgres::ReadCache read_cache;
  postgres::Primary primary{[] {}};
  postgres::SessionPool pool{endpoint(), 4, kCeiling, primary, nullptr};
  postgres::SharedChunks chunks{pool};
  const std::unique_ptr<Blobs> blobs = inlined::open(chunks, clock);
};

TEST_F(PostgresChunkFaults, AChunkWhoseCommitIsCutIsStoredOnceWhicheverItIs) {
  const auto bytes = some_bytes(kSize);
  for (const char* number : {"0", "1", "2"}) {
    outside.query("CREATE SEQUENCE turns");
    at_commit(std::string("IF NEW.number = ") + number +
              " THEN IF nextval('turns') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; END IF;");
    const auto key = put(*blobs, bytes);
    EXPECT_EQ(outside.query("SELECT last_value FROM turns").front().integer(0), 2) << "it was tried again once";
    const auto blob = blobs->open(key);
    ASSERT_TRUE(blob);
    EXPECT_TRUE(content(*blob) == bytes) << number;
    no_trigger();
    outside.query("DROP SEQUENCE turns");
  }
  EXPECT_EQ(blobs->count_unfinished(Time::max()), 0u);
}

TEST_F(PostgresChunkFaults, AWriterAndAReaderContinueWhenEverySessionWasEndedMeanwhile) {
  const auto bytes = some_bytes(kSize);
  const auto writer = blobs->put();
  const auto half = bytes.size() / 2;
  writer->write(std::string_view(bytes).substr(0, half));
  end_all_sessions();
  writer->write(std::string_view(bytes).substr(half));
  end_all_sessions();
  const auto blob = blobs->open(writer->finish());
  ASSERT_TRUE(blob);
  std::string back(100, '\0');
  EXPECT_EQ(blob->read(0, back), 100u);
  end_all_sessions();
  EXPECT_TRUE(content(*blob) == bytes);
}

TEST_F(PostgresChunkFaults, AFullDiskFailsTheBlobAndNothingOfItIsVisible) {
  at_chunk("IF NEW.number = 1 THEN RAISE 'no space left on device' USING ERRCODE = 'disk_full'; END IF;");
  EXPECT_THROW(put(*blobs, some_bytes(kSize)), StorageFull);
  EXPECT_THAT(keys_of(*blobs), IsEmpty());
  EXPECT_EQ(blobs->count_unfinished(Time::max()), 0u) << "the writer has dropped its chunks";
  no_trigger();
  EXPECT_EQ(blobs->open(put(*blobs, some_bytes(kSize)))->size(), kSize);
}

TEST_F(PostgresChunkFaults, AReaderOfABlobThatIsDroppedFindsAnEndAndNoFailure) {
  const auto key = put(*blobs, some_bytes(kSize));
  const auto blob = blobs->open(key);
  ASSERT_TRUE(blob);
  std::string back(kChunkBytes, '\0');
  ASSERT_EQ(blob->read(0, back), kChunkBytes);
  blobs->drop(key);
  EXPECT_EQ(blob->read(kChunkBytes, back), 0u);
  // A chunk that was deleted behind the store's back is a failure, not the end.
  const auto holed = put(*blobs, some_bytes(kSize));
  const auto with_hole = blobs->open(holed);
  ASSERT_EQ(with_hole->read(0, back), kChunkBytes);
  outside.query("DELETE FROM blob_chunks WHERE number = 1");
  EXPECT_THAT([&] { with_hole->read(kChunkBytes, back); }, ThrowsMessage<Unavailable>(HasSubstr("is missing")));
}

TEST_F(PostgresChunkFaults, ACheckNoticesADatabaseThatDoesNotReturnWhatWasStored) {
  EXPECT_NO_THROW(blobs->check());
  const auto unsound = ThrowsMessage<Unavailable>(HasSubstr("could not be read back"));
  at_chunk("NEW.bytes = 'CHECK'::bytea;");
  EXPECT_THAT([&] { blobs->check(); }, unsound) << "something else";
  no_trigger();
  at_chunk("NEW.bytes = 'che'::bytea;");
  EXPECT_THAT([&] { blobs->check(); }, unsound) << "less";
  no_trigger();
  at_blob("NEW.finished = false;");
  EXPECT_THAT([&] { blobs->check(); }, unsound) << "nothing";
  no_trigger();
  EXPECT_NO_THROW(blobs->check());
  EXPECT_THAT(keys_of(*blobs), IsEmpty());
  EXPECT_EQ(blobs->count_unfinished(Time::max()), 0u);
}

}  // namespace
}  // namespace restante::testing
