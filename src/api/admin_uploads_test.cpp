#include "api/handlers.h"

#include <gtest/gtest.h>

#include <thread>

#include "api/test_api.h"
#include "base/json.h"
#include "base/test_rows.h"

namespace restante::api {
namespace {

class AdminUploadsApi : public ::testing::Test {
 protected:
  Json get(const std::string& target) {
    const Answer answer = api.get(target, api.admin);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return *parse_json(answer.body);
  }
  std::string names(const std::string& query) {
    const Json answer = get("/admin/uploads" + query);
    std::string all;
    for (const Json& row : *answer.find("uploads")->if_array()) all += *row.find("name")->if_string() + " ";
    EXPECT_EQ(answer.find("count")->integer(), std::ssize(*answer.find("uploads")->if_array()));
    return all;
  }
  void step(const std::string& file, const std::string& verb) {
    EXPECT_EQ(api.post(api.path("/pending-uploads/" + file + "/" + verb), api.agent, "{}").status, 200);
  }
  void fetch(const std::string& file) {
    EXPECT_EQ(api.get(api.path("/pending-uploads/" + file + "/content"), api.agent).status, 200);
  }
  // Stages one file of each kind; the clock is then at their hour.
  void one_of_each() {
    api.upload(api.sender, "late", "1");
    api.desk.clock.advance(std::chrono::hours(24));
    api.upload(api.sender, "untouched", "22");
    fetch(api.upload(api.sender, "fetched", "333"));
    step(api.upload(api.sender, "failed", "4444"), "fail");
    const std::string taken = api.upload(api.sender, "taken", "55555");
    fetch(taken);
    step(taken, "ack");
    Ask out;
    out.method = "POST";
    out.target = api.path("/chat/uploads?direction=out");
    out.body = "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"out\"\r\n\r\n666666\r\n--b--\r\n";
    EXPECT_EQ(api.ask(out.bearer(api.agent).with("Content-Type", "multipart/form-data; boundary=b")).status, 200);
  }
  static std::pair<std::int64_t, std::int64_t> tally(const Json& figures, std::string_view name) {
    return {*figures.find(name)->find("files")->integer(), *figures.find(name)->find("bytes")->integer()};
  }

  TestApi api;
};

TEST_F(AdminUploadsApi, NeverFetchedDiffersFromFetchedAndNotAcked) {
  one_of_each();
  expect_rows([&](const std::string& query) { return names(query); },
              {{"?state=never_fetched", "untouched "},
               {"?state=fetched", "fetched "},
               {"?state=failed", "failed "},
               {"?state=acked", "taken "},
               {"?state=expired", "late "},
               {"?state=outgoing", "out "},
               {"", "untouched fetched failed "},
               {"?state=all", "untouched fetched failed taken late "},
               {"?state=all&limit=4", "untouched fetched failed taken "},
               {"?workspace=" + api.other.text(), ""},
               {"?workspace=" + api.workspace.text() + "&limit=1", "untouched "}});
}

TEST_F(AdminUploadsApi, ARowContainsItsWorkspaceAndItsState) {
  const std::string file = api.upload(api.sender, "a.txt", "hello");
  const Json answer = get("/admin/uploads");
  const Json& row = answer.find("uploads")->if_array()->at(0);
  EXPECT_EQ(*row.find("workspace_id")->if_string(), api.workspace.text());
  EXPECT_EQ(*row.find("workspace_name")->if_string(), "agent");
  EXPECT_EQ(*row.find("file_id")->if_string(), file);
  EXPECT_EQ(*row.find("state")->if_string(), "staged");
  const Json next = get("/admin/uploads?after=" + file);
  EXPECT_TRUE(next.find("uploads")->if_array()->empty());
}

TEST_F(AdminUploadsApi, FilesOfARemovedWorkspaceAreStillListed) {
  api.upload(api.sender, "evidence");
  EXPECT_TRUE(api.desk.workspaces.remove(api.workspace));
  const Json answer = get("/admin/uploads");
  ASSERT_EQ(answer.find("uploads")->if_array()->size(), 1u);
  EXPECT_TRUE(answer.find("uploads")->if_array()->at(0).find("workspace_name")->is_null());
  const Json stats = get("/admin/uploads/stats");
  EXPECT_EQ(tally(*stats.find("total"), "waiting").first, 1);
}

TEST_F(AdminUploadsApi, AnInvalidFilterIsRefused) {
  for (const char* query : {"?state=lost", "?state=", "?state=all&after=018f3c1e-0000-7000-8000-000000000000"}) {
    const Answer answer = api.get(std::string("/admin/uploads") + query, api.admin);
    EXPECT_EQ(answer.status, 400) << query;
  }
  EXPECT_NE(api.get("/admin/uploads?state=lost", api.admin).body.find(R"("allowed":"waiting, never_fetched)"),
            std::string::npos);
  for (const char* target :
       {"/admin/uploads?workspace=x", "/admin/uploads?after=x", "/admin/uploads/stats?workspace=x"}) {
    EXPECT_NE(api.get(target, api.admin).body.find(R"("code":"bad_id")"), std::string::npos) << target;
  }
}

TEST_F(AdminUploadsApi, TheFiguresAddUpInTotalAndForEveryWorkspace) {
  one_of_each();
  api.desk.clock.advance(std::chrono::seconds(90));
  const Json stats = get("/admin/uploads/stats");
  ASSERT_EQ(stats.find("workspaces")->if_array()->size(), 1u);
  const Json& own = stats.find("workspaces")->if_array()->at(0);
  EXPECT_EQ(*own.find("workspace_name")->if_string(), "agent");
  for (const Json& figures : {*stats.find("total"), own}) {
    using Tally = std::pair<std::int64_t, std::int64_t>;
    EXPECT_EQ(tally(figures, "waiting"), (Tally{3, 9}));
    EXPECT_EQ(tally(figures, "never_fetched"), (Tally{1, 2}));
    EXPECT_EQ(tally(figures, "fetched"), (Tally{1, 3}));
    EXPECT_EQ(tally(figures, "failed"), (Tally{1, 4}));
    EXPECT_EQ(tally(figures, "acked"), (Tally{1, 5}));
    EXPECT_EQ(tally(figures, "expired"), (Tally{1, 1}));
    EXPECT_EQ(tally(figures, "outgoing"), (Tally{1, 6}));
    EXPECT_EQ(figures.find("oldest_age_seconds")->integer(), 90);
  }
  const Json none = get("/admin/uploads/stats?workspace=" + api.other.text());
  EXPECT_TRUE(none.find("workspaces")->if_array()->empty());
  EXPECT_EQ(tally(*none.find("total"), "waiting").first, 0);
  EXPECT_TRUE(none.find("total")->find("oldest_age_seconds")->is_null());
  const Json only = get("/admin/uploads/stats?workspace=" + api.workspace.text());
  EXPECT_EQ(tally(*only.find("total"), "waiting").first, 3);
}

TEST_F(AdminUploadsApi, DamagedFilesAreListedAndCountedInAnyState) {
  one_of_each();
  for (const char* name : {"untouched", "taken", "out"}) {
    for (const Upload& upload : api.desk.store->walk_uploads({}, 10)) {
      if (upload.name != name) continue;
      EXPECT_TRUE(
          api.desk.store->mark_damaged(api.workspace, upload.id, UploadDamage::missing, upload.created_at).take());
    }
  }
  EXPECT_EQ(names("?state=damaged"), "untouched taken out ");
  EXPECT_EQ(names("?state=damaged&workspace=" + api.other.text()), "");
  EXPECT_EQ(names("?state=failed"), "untouched failed ") << "who is waited for has failed";
  const Json listed = get("/admin/uploads?state=damaged");
  EXPECT_EQ(*listed.find("uploads")->if_array()->at(1).find("state")->if_string(), "acked");
  EXPECT_EQ(*listed.find("uploads")->if_array()->at(1).find("damage")->if_string(), "missing");
  const Json stats = get("/admin/uploads/stats");
  for (const Json& figures : {*stats.find("total"), stats.find("workspaces")->if_array()->at(0)}) {
    EXPECT_EQ(tally(figures, "damaged"), (std::pair<std::int64_t, std::int64_t>{3, 13}));
    EXPECT_EQ(tally(figures, "waiting").first, 3) << "of the others, not beside them";
  }
}

TEST_F(AdminUploadsApi, ASweepReportsWhatItDeleted) {
  one_of_each();
  Ask sweep;
  sweep.method = "POST";
  sweep.target = "/admin/sweep";
  const Answer swept = api.ask(sweep.bearer(api.admin));
  EXPECT_EQ(swept.status, 200) << swept.body;
  EXPECT_TRUE(swept.body.starts_with(
      R"({"acked":0,"expired":1,"blobs_deleted":0,"orphans":0,"clock_jumped":false,"duration_ms":)"))
      << swept.body;
  EXPECT_EQ(names("?state=expired"), "");
  const Json figures = get("/admin/uploads/stats");
  EXPECT_EQ(tally(*figures.find("total"), "expired").first, 0);
}

TEST_F(AdminUploadsApi, ASweepDuringAnotherOneIsRefused) {
  api.upload(api.sender, "late");
  api.desk.clock.advance(std::chrono::hours(24));
  Ask sweep;
  sweep.method = "POST";
  sweep.target = "/admin/sweep";
  sweep.bearer(api.admin);
  Answer second;
  api.desk.bell.ringing = [&] { std::thread([&] { second = api.ask(sweep); }).join(); };
  EXPECT_EQ(api.ask(sweep).status, 200);
  EXPECT_EQ(second.status, 409) << second.body;
  EXPECT_NE(second.body.find(R"("code":"sweep_running")"), std::string::npos) << second.body;
}

TEST_F(AdminUploadsApi, TheFiguresHavePagesForClientsThatAskForThem) {
  api.upload(api.sender, "a", "1");
  EXPECT_FALSE(get("/admin/uploads/stats").find("next"));
  const Json none = get("/admin/uploads/stats?limit=0");
  EXPECT_TRUE(none.find("workspaces")->if_array()->empty());
  EXPECT_EQ(tally(*none.find("total"), "never_fetched"), (std::pair<std::int64_t, std::int64_t>{1, 1}));
  std::size_t listed = 0;
  std::string next = "/admin/uploads/stats?limit=1";
  for (int pages = 0; !next.empty() && pages < 9; ++pages) {
    const Json page = get(next);
    listed += page.find("workspaces")->if_array()->size();
    EXPECT_EQ(tally(*page.find("total"), "never_fetched"), (std::pair<std::int64_t, std::int64_t>{1, 1}));
    const auto* after = page.find("next")->if_string();
    next = after ? "/admin/uploads/stats?limit=1&after=" + *after : "";
  }
  EXPECT_EQ(listed, 1u);
  EXPECT_EQ(api.get("/admin/uploads/stats?after=x", api.admin).status, 400);
}

}  // namespace
}  // namespace restante::api
