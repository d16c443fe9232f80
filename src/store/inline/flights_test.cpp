#include "store/inline/flights.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace restante::inlined {
namespace {

TEST(Flights, NoMoreThanThereIsRoomForFlyAtOnceAndEverybodyGetsThere) {
  const auto flights = std::make_shared<Flights>(100);
  std::atomic<int> flying{0};
  std::atomic<int> most{0};
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 50; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const Flight flight(flights, 25);
        const int now = ++flying;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
        --flying;
        ++arrived;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(arrived, 1000);
  EXPECT_LE(most, 4);
}

TEST(Flights, WhatIsLargerThanAllRoomFliesAlone) {
  const auto flights = std::make_shared<Flights>(10);
  {
    const Flight large(flights, 1000);
  }
  std::optional<Flight> small(std::in_place, flights, 1);
  std::atomic<bool> gone{false};
  std::thread waiting([&] {
    const Flight large(flights, 1000);
    gone = true;
  });
  EXPECT_FALSE(gone);
  small.reset();
  waiting.join();
  EXPECT_TRUE(gone);
}

TEST(Flights, ItsRoomOutlivesWhoeverMadeIt) {
  auto flights = std::make_shared<Flights>(10);
  auto flight = std::make_unique<Flight>(flights, 10);
  flights.reset();
  flight.reset();
}

}  // namespace
}  // namespace restante::inlined
