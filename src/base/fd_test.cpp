#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace restante {
namespace {

Fd open_null() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(Fd, ClosesAtItsEndAndKeepsErrno) {
  int fd = -1;
  {
    const Fd file = open_null();
    ASSERT_TRUE(file);
    fd = file.get();
    errno = ENOSPC;
  }
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_FALSE(is_open(fd));
}

TEST(Fd, NoneIsFalseAndMayBeClosed) {
  Fd none;
  EXPECT_FALSE(none);
  EXPECT_FALSE(Fd(-1));
  none.close();
  EXPECT_EQ(none.get(), -1);
}

TEST(Fd, AMoveLeavesNoneBehindAndClosesWhatWasThere) {
  Fd one = open_null();
  Fd two = open_null();
  const int first = one.get();
  const int second = two.get();
  one = std::move(two);
  EXPECT_FALSE(two);  // NOLINT(bugprone-use-after-move): a moved-from Fd is none
  EXPECT_EQ(one.get(), second);
  EXPECT_FALSE(is_open(first));
  Fd& same = one;
  one = std::move(same);
  EXPECT_EQ(one.get(), second) << "a move to itself changes nothing";
  EXPECT_TRUE(is_open(second));
}

TEST(Fd, WhatIsReleasedStaysOpen) {
  Fd file = open_null();
  const int fd = file.release();
  EXPECT_FALSE(file);
  EXPECT_TRUE(is_open(fd));
  ::close(fd);
}

}  // namespace
}  // namespace restante
