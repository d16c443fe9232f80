// What Store::check() finds out about a PostgreSQL that can be read.
#include <gmock/gmock.h>

#include "postgres_server.h"
#include "store/postgres/connections/connection.h"

namespace restante::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(PostgresCheck, ADatabaseThatHasNoRoomForAWriteIsReported) {
  const PostgresDatabase database(PostgresDatabase::Schema::complete);
  const auto store = postgres::open(database.url(), patient_options());
  EXPECT_NO_THROW(store->check());
  postgres::ConnectionOptions endpoint;
  endpoint.url = database.url();
  postgres::Connection outside(endpoint);
  outside.execute(
      "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS "
      "$$BEGIN RAISE EXCEPTION 'could not extend file: no space left' USING ERRCODE = '53100'; END$$;"
      "CREATE TRIGGER no_room BEFORE INSERT OR UPDATE ON trial_writes FOR EACH ROW EXECUTE FUNCTION no_room()");
  EXPECT_THAT([&] { store->check(); }, ThrowsMessage<StorageFull>(HasSubstr("no space left")));
  outside.execute("DROP TRIGGER no_room ON trial_writes");
  EXPECT_NO_THROW(store->check());
}

}  // namespace
}  // namespace restante::testing
