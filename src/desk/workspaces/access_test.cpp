#include "desk/workspaces/access.h"

#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

struct AccessTest : ::testing::Test {
  WorkspaceId child_of(WorkspaceId parent) {
    NewWorkspace wanted;
    wanted.name = "child";
    wanted.parent_id = parent;
    return desk.store->create_workspace(wanted, desk.clock.now()).take()->id;
  }
  bool may(Access& access, WorkspaceId from, WorkspaceId to) {
    const auto checked = access.check(from, to);
    if (!checked) {
      EXPECT_TRUE(checked.error().is(errors::may_not_talk));
    }
    return checked.has_value();
  }

  TestDesk desk;
  Access talk{*desk.store, Roots::talk};
  Access isolated{*desk.store, Roots::isolated};
  WorkspaceId root = desk.make_workspace();
  WorkspaceId child = child_of(root);
  WorkspaceId sibling = child_of(root);
  WorkspaceId grandchild = child_of(child);
  WorkspaceId other_root = desk.make_workspace();
  WorkspaceId other_child = child_of(other_root);
};

TEST_F(AccessTest, RelatedWorkspacesTalkWhateverRootsMayDo) {
  for (Access* access : {&talk, &isolated}) {
    for (const auto& [from, to] : {std::pair{child, child},
                                   {child, root},
                                   {root, child},
                                   {child, sibling},
                                   {grandchild, root},
                                   {root, grandchild}}) {
      EXPECT_TRUE(may(*access, from, to));
    }
  }
}

TEST_F(AccessTest, UnrelatedRootsTalkOnlyIfTheOperatorAllowsIt) {
  EXPECT_TRUE(may(talk, root, other_root));
  EXPECT_FALSE(may(isolated, root, other_root));
}

TEST_F(AccessTest, UnrelatedWorkspacesDoNotTalk) {
  for (const auto& [from, to] :
       {std::pair{child, other_child}, {child, other_root}, {root, other_child}, {grandchild, sibling}}) {
    EXPECT_FALSE(may(talk, from, to));
  }
}

TEST_F(AccessTest, DescendantsAreRelativesUpToThirtyTwoHops) {
  WorkspaceId last = child;
  for (int hops = 2; hops <= 32; ++hops) last = child_of(last);
  EXPECT_TRUE(may(isolated, root, last));
  EXPECT_TRUE(may(isolated, last, root));
  last = child_of(last);
  EXPECT_FALSE(may(isolated, root, last));
  EXPECT_FALSE(may(isolated, last, root));
}

TEST_F(AccessTest, AMissingWorkspaceLooksLikeAnUnrelatedOne) {
  EXPECT_FALSE(may(talk, root, WorkspaceId::make(kStart)));
}

TEST_F(AccessTest, PeersAreTheWorkspacesItMayTalkTo) {
  std::vector<WorkspaceId> peers;
  for (const Workspace& peer : talk.peers(child)) peers.push_back(peer.id);
  std::sort(peers.begin(), peers.end());
  std::vector expected{root, sibling, grandchild};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(peers, expected);
}

}  // namespace
}  // namespace restante::desk
