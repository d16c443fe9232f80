// Allocations that fail, each one of a request in turn, with the real route table, handlers and SQLite store behind the
// real edge: SQLite's own allocations, too. The process goes on, and every answer is true. 200: it is stored once.
// 503 platform_unavailable: nothing is stored, now or later. 503 outcome_unknown and a closed connection: one of the
// two, and a repetition with the same Idempotency-Key settles it.
#include "base/test_allocations.h"
#ifndef RESTANTE_HAS_OTHER_NEW
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "api/test_api.h"
#include "net/test_edge.h"

namespace restante {
namespace {

constexpr long kMost = 20'000;  // far more than a request needs

sqlite3_mem_methods plain_memory;

// Before anything opens a database: SQLite accepts it only then.
const bool kCounted = [] {
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain_memory);
  sqlite3_mem_methods counted = plain_memory;
  counted.xMalloc = [](int size) -> void* { return FailingAllocation::fails() ? nullptr : plain_memory.xMalloc(size); };
  counted.xRealloc = [](void* memory, int size) -> void* {
    return FailingAllocation::fails() ? nullptr : plain_memory.xRealloc(memory, size);
  };
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &counted) == SQLITE_OK;
}();

struct NoMemory : testing::Test {
  NoMemory() {
    add_routes(server.router, api.context);
    server.start();
  }

  net::Reply post(const std::string& path, std::string_view secret, std::string_view headers, std::string_view body) {
    net::Client client = server.client();
    client.send("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + std::string(secret) +
                "\r\n" + std::string(headers) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                std::string(body));
    return client.reply();
  }
  net::Reply post(const std::string& path, std::string_view secret, std::string_view body) {
    return post(path, secret, "Content-Type: application/json\r\n", body);
  }
  net::Reply send_message(const std::string& text, const std::string& headers = {}) {
    return post(api.path("/a2a"), api.sender, headers + "Content-Type: application/json\r\n",
                R"({"method":"message/send","params":{"message":{"parts":[{"kind":"text","text":")" + text + "\"}]}}}");
  }
  net::Reply upload(const std::string& name, std::size_t size) {
    return post(api.path("/chat/uploads"), api.sender, "Content-Type: multipart/form-data; boundary=b\r\n",
                "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"" + name + "\"\r\n\r\n" +
                    std::string(size, 'x') + "\r\n--b--\r\n");
  }

  // The newest rows that contain the text. Everything that was handed to the store before is settled: the writer
  // answers in order.
  std::size_t rows_with(std::string_view text) {
    EXPECT_EQ(send_message("settled").status, 200);
    InboxQuery newest;
    newest.limit = 5;
    const auto rows = api.desk.store->read_inbox(api.workspace, newest);
    if (!rows) ADD_FAILURE() << "the inbox cannot be read";
    std::size_t found = 0;
    for (const InboxRow& row : *rows) {
      found += (row.summary + row.request_body + row.response_body).find(text) != std::string::npos;
    }
    return found;
  }

  // Lets `act(mark)` meet one failure after the other until none is left; `stored(mark)` counts its effects.
  template <class Act, class Stored>
  void fail_each(Act act, Stored stored) {
    long nothing = 0;
    long unknown = 0;
    for (long n = 0; n < kMost; ++n) {
      const std::string mark = "mark" + std::to_string(n) + "end";
      FailingAllocation::after(n);
      const net::Reply reply = act(mark);
      const bool reached = FailingAllocation::end();
      const std::size_t effects = stored(mark);
      SCOPED_TRACE("allocation " + std::to_string(n) + " failed: " + std::to_string(reply.status) + " " + reply.body);
      if (reply.status / 100 == 2) {
        EXPECT_EQ(effects, 1u);
      } else if (reply.body.find("platform_unavailable") != std::string::npos) {
        EXPECT_EQ(reply.status, 503);
        EXPECT_EQ(effects, 0u);
        ++nothing;
      } else if (reply.status == 503) {
        EXPECT_NE(reply.body.find("outcome_unknown"), std::string::npos);
        EXPECT_LE(effects, 1u);
        ++unknown;
      } else {
        EXPECT_EQ(reply.status, 0);
        EXPECT_LE(effects, 1u);
      }
      if (HasFailure()) return;
      if (!reached) {
        EXPECT_EQ(reply.status / 100, 2);
        EXPECT_GT(nothing, 0) << "no failure came before the write";
        EXPECT_GT(unknown, 0) << "no failure came after the write was handed over";
        return;
      }
    }
    ADD_FAILURE() << "it always fails";
  }

  api::TestApi api;
  net::TestEdge server;  // ends first
  const FailingAllocation::Exempt exempt;
};

TEST_F(NoMemory, SqliteCountsItsAllocations) { EXPECT_TRUE(kCounted); }

TEST_F(NoMemory, TheAnswerToAMessageIsTrue) {
  fail_each([&](const std::string& mark) { return send_message(mark); },
            [&](const std::string& mark) { return rows_with(mark); });
}

TEST_F(NoMemory, TheAnswerToTheAgentsMessageIsTrue) {
  fail_each(
      [&](const std::string& mark) { return post(api.path("/notify"), api.agent, R"({"message":")" + mark + "\"}"); },
      [&](const std::string& mark) { return rows_with(mark); });
}

TEST_F(NoMemory, TheAnswerToAnUploadIsTrue) {
  for (const std::size_t size : {5u, 20'000u}) {
    fail_each([&](const std::string& mark) { return upload(mark, size); },
              [&](const std::string& mark) { return rows_with(mark); });
  }
}

TEST_F(NoMemory, TheAnswerToANewTokenIsTrue) {
  const auto labelled = [&](const std::string& mark) {
    std::size_t found = 0;
    for (const Token& token : api.desk.store->list_tokens(api.workspace)) {
      if (token.label != mark) continue;
      ++found;
      EXPECT_TRUE(api.desk.store->revoke_token(token.id, api.desk.clock.now()).take());
    }
    return found;
  };
  fail_each(
      [&](const std::string& mark) { return post(api.path("/tokens"), api.agent, R"({"label":")" + mark + "\"}"); },
      labelled);
}

TEST_F(NoMemory, ARepetitionWithTheSameKeySettlesIt) {
  for (long n = 0; n < kMost; ++n) {
    const std::string mark = "mark" + std::to_string(n) + "end";
    const std::string key = "Idempotency-Key: " + mark + "\r\n";
    FailingAllocation::after(n);
    const net::Reply first = send_message(mark, key);
    const bool reached = FailingAllocation::end();
    SCOPED_TRACE("allocation " + std::to_string(n) + " failed: " + std::to_string(first.status) + " " + first.body);
    const std::size_t stored = rows_with(mark);
    const bool nothing = first.body.find("platform_unavailable") != std::string::npos;
    EXPECT_TRUE(!nothing || stored == 0) << stored;
    const net::Reply second = send_message(mark, key);
    EXPECT_EQ(second.status, 200) << second.body;
    EXPECT_EQ(rows_with(mark), 1u);
    if (!reached || HasFailure()) return;
  }
  ADD_FAILURE() << "it always fails";
}

}  // namespace
}  // namespace restante
#endif
