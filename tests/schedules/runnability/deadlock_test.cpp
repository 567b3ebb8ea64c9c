#include "schedules/runnability/deadlock.hpp"

#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/program/waits.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/random_program.hpp"
#include "tests/support/text_sum.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

constexpr std::array kModes{TransferMode::kBuffered, TransferMode::kFifo,    TransferMode::kRendezvous,
                            TransferMode::kBlocking, TransferMode::kBatched, TransferMode::kPairFifo};

Program drawn(std::uint64_t seed) {
  RandomProgram shape;
  shape.devices = 2 + static_cast<std::int32_t>(seed % 3);
  shape.per_device = 3 + static_cast<std::int32_t>(seed % 6);
  shape.edges = 8 + static_cast<std::int32_t>(seed % 25);
  shape.pairs = seed % 4 != 0;
  shape.collectives = static_cast<std::int32_t>(seed % 3);
  return random_program(shape, seed + 1000);
}

}  // namespace

TEST_CASE("drawn programs come to a standstill in the transfer modes in which they did, by the cycles that they had") {
  std::string text;
  for (const TransferMode mode : kModes) {
    TextSum sum;
    int hanging = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      const std::string told = describe_deadlock(drawn(seed), mode);
      hanging += told.empty() ? 0 : 1;
      sum.add(told);
    }
    text +=
        std::to_string(static_cast<int>(mode)) + ": " + std::to_string(hanging) + " of 150 hang, " + sum.text() + "\n";
  }
  CHECK(text == golden("deadlocks.txt", text));
}

TEST_CASE("in the order in which a program runs everything comes behind what it waits for") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Program program = drawn(seed);
    const std::vector<InstrIndex> order = run_order(program);
    REQUIRE(order.size() == program.size());
    std::vector<std::size_t> place(program.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    for (InstrIndex at = 0; at < program.size(); ++at) {
      for (std::uint32_t w = program.instrs[at].first_wait; w < program.instrs[at + 1].first_wait; ++w) {
        const Wait& wait = program.waits[w];
        if (is_for_transfer(wait)) {
          CHECK(place[program.transfers[wait.via].issue] < place[at]);
        } else if (is_for_collective(wait)) {
          for (const InstrIndex member : program.collectives[collective_of(wait)].members)
            CHECK(place[member] < place[at]);
        } else {
          CHECK(place[wait.source] < place[at]);
        }
      }
    }
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
