#include "store/inline/byte_semaphore.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace restante::inlined {
namespace {

TEST(ByteSemaphore, ReservationsNeverExceedTheLimitAndAllAreAdmitted) {
  const auto semaphore = std::make_shared<ByteSemaphore>(100);
  std::atomic<int> holding{0};
  std::atomic<int> most{0};
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 50; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const ByteReservation reservation(semaphore, 25);
        const int now = ++holding;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
        --holding;
        ++admitted;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(admitted, 1000);
  EXPECT_LE(most, 4);
}

TEST(ByteSemaphore, AReservationLargerThanTheLimitIsAdmittedAlone) {
  const auto semaphore = std::make_shared<ByteSemaphore>(10);
  {
    const ByteReservation large(semaphore, 1000);
  }
  std::optional<ByteReservation> small(std::in_place, semaphore, 1);
  std::atomic<bool> admitted{false};
  std::thread waiting([&] {
    const ByteReservation large(semaphore, 1000);
    admitted = true;
  });
  EXPECT_FALSE(admitted);
  small.reset();
  waiting.join();
  EXPECT_TRUE(admitted);
}

TEST(ByteSemaphore, AReservationMayOutliveTheOwnerOfTheSemaphore) {
  auto semaphore = std::make_shared<ByteSemaphore>(10);
  auto reservation = std::make_unique<ByteReservation>(semaphore, 10);
  semaphore.reset();
  reservation.reset();
}

}  // namespace
}  // namespace restante::inlined
