// The stores that the conformance suite runs on. A backend joins by adding itself to all_backends(): every
// parameterised test then also runs on it. A behaviour that is not in this suite is not promised.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "store/store.h"

namespace restante::testing {

// One set of data, kept until this is destroyed. open() returns a Store on it; it may be called often, but only one
// store may be open at a time.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::unique_ptr<Store> open() = 0;
  // The same without migrating, on a schema from before the named migration.
  virtual std::unique_ptr<Store> open_before(const std::string& migration) = 0;
  // Waits until the database has finished everything that a killed process sent to it. No store may be open.
  virtual void wait_until_unused() = 0;
};

struct BackendKind {
  std::string name;
  std::function<std::unique_ptr<Backend>()> make;
};

inline void PrintTo(const BackendKind& kind, std::ostream* out) { *out << kind.name; }

std::vector<BackendKind> all_backends();

// 2026-01-01T00:00:00Z plus so many seconds.
Time at(std::int64_t seconds);

// A store on fresh data, and the short forms tests are written in. Every form expects success.
class StoreTest : public ::testing::TestWithParam<BackendKind> {
 protected:
  StoreTest() : backend(GetParam().make()), store(backend->open()) {}

  void reopen();
  void remove(WorkspaceId id);
  Workspace make_workspace(const std::string& name = "agent", Time now = at(0));
  Appended append(WorkspaceId workspace, const NewInboxRow& activity, Time now = at(0));
  StagedUpload stage(WorkspaceId workspace, const NewUpload& item, Time now = at(0), Time expires_at = at(86400));
  std::vector<InboxRow> read(WorkspaceId workspace, const InboxQuery& query = {});
  // All rows, oldest first.
  std::vector<InboxRow> inbox_of(WorkspaceId workspace);

  std::unique_ptr<Backend> backend;
  std::unique_ptr<Store> store;
};

// By poll, without details and without a token.
CheckedRegistration registration_for(WorkspaceId workspace);
// No quota, for the agent, without a sender.
StagingTerms until(Time expires_at);
NewInboxRow message(const std::string& text, const std::string& message_id = "");
// Content in Blobs, under a new key; small_file(): in the row.
NewUpload file(const std::string& name, std::int64_t size = 5);
NewUpload small_file(const std::string& name, const std::string& content);

#define RESTANTE_EVERY_BACKEND(suite)                                                                 \
  INSTANTIATE_TEST_SUITE_P(Backends, suite, ::testing::ValuesIn(::restante::testing::all_backends()), \
                           [](const auto& test) { return test.param.name; })

// The answer kept by the first write under the same claim; "none" when this one had an effect or another error.
template <class T>
std::string earlier_answer_of(const Result<T>& result) {
  const auto earlier = result ? std::nullopt : earlier_answer(result.error());
  return earlier.value_or("none");
}

// An Error of this kind, and no value.
#define EXPECT_ERROR(expression, kind)                                 \
  do {                                                                 \
    const auto& error_result = (expression);                           \
    ASSERT_TRUE(error_result.has_error()) << "no error: " #expression; \
    EXPECT_EQ(error_result.error().code(), (kind).code);               \
  } while (false)

}  // namespace restante::testing
