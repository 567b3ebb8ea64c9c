#include <doctest/doctest.h>

#include <array>

#include "schedules/program_text.hpp"
#include "sim/deadlock.hpp"
#include "sim/event_engine.hpp"
#include "sim/pass_engine.hpp"
#include "tests/support/random_program.hpp"
#include "tests/support/reference_engine.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using plumb::testing::random_program;
using plumb::testing::RandomProgram;
using plumb::testing::run_longest_path;

namespace {

constexpr std::array kAllModes{TransferMode::kBuffered, TransferMode::kFifo, TransferMode::kRendezvous,
                               TransferMode::kBlocking, TransferMode::kBatched};

/// How often each outcome was met, so that a property over nothing cannot pass.
struct Met {
  int runs = 0;
  int deadlocks = 0;
};

Met check_engines_agree(const RandomProgram& shape, TransferMode mode, std::uint64_t seeds) {
  Met met;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const Program program = random_program(shape, seed);
    SimOptions options;
    options.transfers = mode;
    const auto expected = run_longest_path(program, options);
    const auto by_events = run_events(program, options);
    const auto by_pass = run_one_pass(program, options);
    REQUIRE(by_events.has_value() == expected.has_value());
    REQUIRE(by_pass.has_value() == expected.has_value());
    CHECK(describe_deadlock(program, mode).empty() == expected.has_value());
    ++(expected ? met.runs : met.deadlocks);
    if (!expected) continue;
    const bool same = *by_events == *expected && *by_pass == *expected;
    if (!same) INFO(program_to_text(program));
    CHECK(*by_events == *expected);
    CHECK(*by_pass == *expected);
    if (!same) return met;
  }
  return met;
}

}  // namespace

TEST_CASE("both engines give the longest path of random programs with messages, in every transfer mode") {
  for (const TransferMode mode : kAllModes) {
    CAPTURE(static_cast<int>(mode));
    const Met met = check_engines_agree({}, mode, 150);
    CHECK(met.runs >= 20);
  }
}

TEST_CASE("both engines deadlock exactly where the graph of moments has a cycle") {
  const Met met = check_engines_agree({.edges = 120, .max_ahead = 1}, TransferMode::kBlocking, 60);
  CHECK(met.deadlocks >= 10);
}

TEST_CASE("both engines give the longest path of random programs whose edges are latencies") {
  const Met met = check_engines_agree({.per_device = 20, .transfers = false}, TransferMode::kBuffered, 150);
  CHECK(met.runs == 150);
}

TEST_CASE("both engines agree when many things happen at once") {
  for (const TransferMode mode : kAllModes) {
    CAPTURE(static_cast<int>(mode));
    check_engines_agree({.devices = 3, .longest = 1, .most_bytes = 1, .latency = 0}, mode, 100);
  }
}

TEST_SUITE_END();
