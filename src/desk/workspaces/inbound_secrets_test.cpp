#include "desk/workspaces/inbound_secrets.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "desk/test_desk.h"
#include "model/errors.h"
#include "model/token.h"

namespace restante::desk {
namespace {

SealKey key(std::uint8_t first) {
  SealKey bytes{};
  bytes[0] = first;
  return bytes;
}

class InboundSecretsTest : public testing::Test {
 protected:
  TestDesk desk;
  Seal seal{key(1)};
  InboundSecrets secrets{*desk.store, seal, desk.clock, desk.log};
  WorkspaceId workspace = desk.make_workspace(DeliveryMode::push);
};

TEST_F(InboundSecretsTest, IsMadeOnceAndStaysTheSame) {
  const auto first = secrets.ensure(workspace);
  ASSERT_TRUE(first);
  EXPECT_TRUE(looks_like_token(*first));
  EXPECT_EQ(*secrets.ensure(workspace), *first);
  EXPECT_NE(*secrets.ensure(desk.make_workspace(DeliveryMode::push)), *first);
}

TEST_F(InboundSecretsTest, RotatingReplacesIt) {
  const auto first = secrets.ensure(workspace);
  const auto second = secrets.rotate(workspace);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(*secrets.ensure(workspace), *second);
}

TEST_F(InboundSecretsTest, TheStoreHoldsItSealedForThisWorkspaceOnly) {
  const auto secret = secrets.ensure(workspace);
  ASSERT_TRUE(secret);
  const std::string sealed = desk.store->find_inbound_secret(workspace);
  EXPECT_EQ(sealed.find(*secret), std::string::npos);
  EXPECT_EQ(seal.open(sealed, workspace.text()), *secret);
  const WorkspaceId other = desk.make_workspace(DeliveryMode::push);
  ASSERT_TRUE(desk.store->set_inbound_secret(other, sealed, desk.clock.now()).take());
  EXPECT_NE(*secrets.ensure(other), *secret);
}

TEST_F(InboundSecretsTest, ALostKeyMeansANewSecret) {
  const auto first = secrets.ensure(workspace);
  const Seal other_key(key(2));
  InboundSecrets after{*desk.store, other_key, desk.clock, desk.log};
  const auto second = after.ensure(workspace);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(*after.ensure(workspace), *second);
}

TEST_F(InboundSecretsTest, AWorkspaceThatDoesNotExistHasNone) {
  const auto none = secrets.ensure(WorkspaceId::make(desk.clock.now()));
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().is(errors::workspace_not_found));
}

TEST_F(InboundSecretsTest, ManyFirstCallersAgreeOnOne) {
  std::vector<std::string> got(8);
  {
    std::vector<std::jthread> threads;
    for (auto& slot : got) threads.emplace_back([&] { slot = *secrets.ensure(workspace); });
  }
  EXPECT_EQ(std::set<std::string>(got.begin(), got.end()).size(), 1u);
}

}  // namespace
}  // namespace restante::desk
