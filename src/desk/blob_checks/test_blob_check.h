// BlobCheckTest: uploads whose blobs a test may delete, damage and add to, and blob checks that run to their end.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "desk/blob_checks/blob_check.h"
#include "desk/uploads/test_uploads.h"
#include "store/sqlite/database/database.h"

namespace restante::desk {

class BlobCheckTest : public TestUploads {
 protected:
  using State = BlobCheckReport::State;
  using Mend = BlobCheck::Mend;

  // Runs the check to its end, however many ticks it takes.
  static BlobCheckReport run(BlobCheck& one, Mend mend = Mend::no) {
    EXPECT_TRUE(one.start(mend).has_value());
    while (one.report().state == State::running) one.tick();
    return one.report();
  }
  BlobCheckReport run(Mend mend = Mend::no) { return run(check, mend); }
  static std::int64_t found(const BlobCheckReport& report, BlobFault fault) {
    return report.found.at(static_cast<std::size_t>(fault));
  }
  std::filesystem::path file_of(const std::string& key, const char* place = "blobs") const {
    const std::string bare(parse_key(key)->bare);
    return desk.folder.path() / place / bare.substr(30) / bare;
  }
  static void spoil(const std::filesystem::path& file) {
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('!');
  }
  std::string orphan(Blobs& place) {
    auto writer = place.put();
    writer->write("orphaned");
    return writer->finish();
  }
  Upload row_of(FileId id) { return desk.store->find_upload(workspace, id).value(); }
  Upload row_of(const Upload& upload) { return row_of(upload.id); }
  std::size_t receipts() {
    std::size_t count = 0;
    for (const InboxRow& row : desk.inbox_of(workspace)) count += row.activity_type == "upload_receipt" ? 1 : 0;
    return count;
  }
  void edit(const std::string& sql) {
    sqlite::Health health;
    sqlite::Database((desk.folder.path() / "test.db").string(), sqlite::Database::Mode::read_write, health)
        .execute(sql);
  }
  BlobCheck make(Places& places, BlobCheckRules rules = {}) {
    return {*desk.store, places, desk.uploads.integrity(), desk.clock, desk.log, desk.metrics, rules};
  }

  BlobCheck& check = desk.blob_check;
};

}  // namespace restante::desk
