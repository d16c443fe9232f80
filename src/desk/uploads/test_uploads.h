// TestUploads: stages and opens files on a separate desk. For tests of desk/ only.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "desk/test_desk.h"
#include "desk/uploads/uploads.h"
#include "model/errors.h"

namespace restante::desk {

class TestUploads : public ::testing::Test {
 protected:
  static UploadRules small_rules() {
    UploadRules rules;
    rules.per_file_bytes = 100'000;
    rules.max_files = 3;
    return rules;
  }
  std::unique_ptr<Staging> stage() {
    auto staging = desk.uploads.stage(workspace, UploadDirection::in, admin);
    EXPECT_TRUE(staging.has_value());
    return std::move(*staging);
  }
  static void add(Staging& staging, std::string_view name, std::string_view bytes) {
    EXPECT_TRUE(staging.begin_file(name, "text/plain").has_value());
    if (!bytes.empty()) {
      EXPECT_TRUE(staging.write(bytes).has_value());
    }
    EXPECT_TRUE(staging.end_file().has_value());
  }
  Upload upload(std::string_view name = "a.txt", std::string_view bytes = "hello") {
    const auto staging = stage();
    add(*staging, name, bytes);
    auto staged = staging->commit().take();
    EXPECT_TRUE(staged.has_value());
    return staged->at(0).upload;
  }
  std::string content(const OpenUpload& open) {
    if (!open.blob) return open.content;
    std::string bytes(static_cast<std::size_t>(open.upload.size) + 10, '\0');
    bytes.resize(open.blob->read(0, bytes));
    return bytes;
  }
  void expect_gone(const Result<OpenUpload>& open) {
    ASSERT_FALSE(open.has_value());
    EXPECT_TRUE(open.error().is(errors::upload_gone)) << open.error().code();
  }
  void expect_nothing() {
    EXPECT_EQ(desk.inbox_of(workspace).size(), 0u);
    EXPECT_EQ(desk.uploads.waiting(kOperator, workspace, {}, 100).size(), 0u);
    EXPECT_EQ(desk.blob_files(), 0u);
  }

  TestDesk desk{small_rules()};
  const WorkspaceId workspace = desk.make_workspace();
  const WorkspaceId other = desk.make_workspace();
  const Principal agent{Principal::Role::workspace, workspace, {}, false};
  const Principal sender{Principal::Role::sender, workspace, TokenId::make(kStart), false};
  const Principal admin{Principal::Role::admin, {}, {}, false};
  const std::string big = std::string(20'000, 'x');  // too much for a row
};

}  // namespace restante::desk
