#include "trainer/processes/peer_watch.hpp"

#include <cstdint>
#include <memory>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/trainer/thread_processes.hpp"
#include "trainer/processes/process_group.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

}  // namespace

TEST_CASE("a peer is lost after the silence that was agreed on, and not before") {
  PeerWatch watch(std::chrono::seconds(3), 100 * kSecond);
  for (int second = 1; second <= 3; ++second) CHECK_FALSE(watch.is_lost((100 + second) * kSecond));
  CHECK(watch.is_lost(103 * kSecond + 1));
}

TEST_CASE("whoever was heard of has the whole patience again") {
  PeerWatch watch(std::chrono::seconds(3), 0);
  for (int second = 1; second <= 20; ++second) {
    if (second % 3 == 0) watch.heard();
    CHECK_FALSE(watch.is_lost(second * kSecond));
  }
}

TEST_CASE("an hour in which a process stood still is two seconds of silence") {
  PeerWatch watch(std::chrono::seconds(3), 0);
  CHECK_FALSE(watch.is_lost(3600 * kSecond));
  CHECK_FALSE(watch.is_lost(3601 * kSecond));
  CHECK(watch.is_lost(3602 * kSecond));
}

TEST_CASE("a beat is due once a second") {
  PeerWatch watch(std::chrono::seconds(3), 0);
  CHECK_FALSE(watch.beat_is_due(kSecond - 1));
  CHECK(watch.beat_is_due(kSecond));
  CHECK_FALSE(watch.beat_is_due(2 * kSecond - 1));
  CHECK(watch.beat_is_due(2 * kSecond));
}

TEST_CASE("a process that never says anything ends the waits of the next one with its name") {
  const auto job = std::make_shared<ThreadJob>(2);
  ProcessGroup group(std::make_unique<ThreadProcess>(job, 0), std::chrono::seconds(1));
  CHECK_THROWS_WITH_AS(
      group.meet(), "nothing was heard of process 1 for 1 s; its host or the network to it is down, or it was stopped",
      Error);
}

TEST_CASE("a process that has ended is not missed") {
  const auto job = std::make_shared<ThreadJob>(2);
  ProcessGroup group(std::make_unique<ThreadProcess>(job, 0), std::chrono::seconds(1));
  { ProcessGroup other(std::make_unique<ThreadProcess>(job, 1), std::chrono::seconds(1)); }
  CHECK_NOTHROW(group.await_end(std::chrono::milliseconds(2500)));
}

}  // namespace plumb

TEST_SUITE_END();
