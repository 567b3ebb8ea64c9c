#include "sim/critical_path.hpp"

#include <doctest/doctest.h>

#include <array>
#include <numeric>

#include "models/ground/error.hpp"
#include "sim/events/event_engine.hpp"
#include "sim/run_program.hpp"
#include "tests/support/random_program.hpp"
#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

using testing::in_units;
using testing::random_program;
using testing::simulated;

constexpr std::array kPathModes{TransferMode::kBuffered, TransferMode::kFifo,    TransferMode::kRendezvous,
                                TransferMode::kBlocking, TransferMode::kBatched, TransferMode::kPairFifo};

Ticks ticks_of(const Timeline& timeline, std::string_view kind) {
  Ticks ticks = 0;
  for (const CriticalShare& share : timeline.critical_path) ticks += share.kind == kind ? share.ticks : 0;
  return ticks;
}

/// Makespan when the instr of a piece takes `more` ticks longer.
Ticks makespan_with(const Program& program, const SimOptions& options, InstrIndex instr, Ticks more) {
  Program changed = program;
  changed.durations.push_back(program.durations[program.instrs[instr].row] + more);
  changed.rows.push_back(program.rows[program.instrs[instr].row]);
  changed.instrs[instr].row = static_cast<std::uint32_t>(changed.rows.size() - 1);
  return run_program(ProgramIndex(changed), options).makespan;
}

}  // namespace

TEST_CASE("the critical path of 1f1b has m + p - 1 forwards and as many backwards") {
  const Timeline timeline = simulated({.name = "1f1b", .p = 4, .m = 8});
  CHECK(in_units(ticks_of(timeline, "F"), timeline.base) == 11);
  CHECK(in_units(ticks_of(timeline, "B"), timeline.base) == 22);
}

TEST_CASE("latency stands on the critical path of 1f1b as often as the makespan grows by it") {
  const Timeline timeline = simulated({.name = "1f1b", .p = 4, .m = 8, .cost = "F=1,B=2,comm=0.25"});
  CHECK(in_units(ticks_of(timeline, "transfer_latency"), timeline.base) == 37 - 33);
}

TEST_CASE("pieces of the critical path follow each other from 0 to the makespan, in every transfer mode") {
  for (const TransferMode mode : kPathModes) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CAPTURE(static_cast<int>(mode));
      CAPTURE(seed);
      const Program program = random_program({}, seed);
      const SimOptions options{.transfers = mode};
      const auto times = run_events(program, options);
      if (!times) continue;
      const std::vector<CriticalPiece> path = critical_path(ProgramIndex(program), *times, options);
      Ticks at = 0;
      for (const CriticalPiece& piece : path) {
        CHECK(piece.start == at);
        at = piece.end;
      }
      CHECK(at == times->makespan);
    }
  }
}

TEST_CASE("when an action of the critical path takes longer, so does everything") {
  for (const TransferMode mode : kPathModes) {
    for (std::uint64_t seed = 0; seed < 15; ++seed) {
      CAPTURE(static_cast<int>(mode));
      CAPTURE(seed);
      const Program program = random_program({}, seed);
      const SimOptions options{.transfers = mode};
      const auto times = run_events(program, options);
      if (!times) continue;
      for (const CriticalPiece& piece : critical_path(ProgramIndex(program), *times, options)) {
        if (piece.kind != CriticalKind::kCompute) continue;
        CHECK(makespan_with(program, options, piece.what, 3) >= times->makespan + 3);
      }
    }
  }
}

TEST_CASE("what if all backwards took half as long is answered by simulating it") {
  const Program program = testing::program_of({.name = "1f1b", .p = 4, .m = 8});
  CHECK(in_units(makespan_if(program, {}, "B", 0.5), program.base) == 22);
  CHECK(in_units(makespan_if(program, {}, "F", 1), program.base) == 33);
  CHECK_THROWS_AS(makespan_if(program, {}, "W", 0.9), Error);
  CHECK_THROWS_AS(makespan_if(program, {}, "B", -1), Error);
}

TEST_CASE("§9.6: with calls the path is a chain from 0 to the makespan, also where much takes no time") {
  // Receives in batches are posted before the sends of their unit are waited for: taken as their cause, at the same
  // moment, such a send once led back to itself.
  int runs = 0;
  for (std::uint64_t seed = 0; seed < 12'000; ++seed) {
    const Program program = random_program({.devices = static_cast<std::int32_t>(2 + seed / 6 % 3),
                                            .per_device = static_cast<std::int32_t>(3 + seed / 18 % 3),
                                            .edges = 30,
                                            .longest = 2,
                                            .collectives = 0,
                                            .most_bytes = 0,
                                            .latency = 0,
                                            .longest_host = 1,
                                            .longest_call = 2,
                                            .max_ahead = 1},
                                           seed);
    const SimOptions options{.transfers = kPathModes[seed % kPathModes.size()]};
    const auto times = run_events(program, options);
    if (!times) continue;
    CAPTURE(seed);
    ++runs;
    Ticks at = 0;
    for (const CriticalPiece& piece : critical_path(ProgramIndex(program), *times, options)) {
      CHECK(piece.start == at);
      at = piece.end;
    }
    CHECK(at == times->makespan);
  }
  CHECK(runs >= 6'000);
}

TEST_CASE("what would be if pairs took longer is asked by their two ops") {
  const Program program = testing::program_of({.name = "stp", .p = 2, .m = 8, .cost = "F=1,I=1,W=1"});
  const Ticks unit = 1'000'000;
  CHECK(makespan_if(program, {}, "F+W", 1) == 49 * unit);
  CHECK(makespan_if(program, {}, "F+B", 2) > 49 * unit);
  CHECK(makespan_if(program, {}, "F+I", 2) > 49 * unit);
  CHECK_THROWS_AS(makespan_if(program, {}, "F+R", 2), Error);
}

TEST_CASE("a little faster saves that share of the critical path, or less where another path is as long") {
  const auto saved_and_share = [](std::string_view cost) {
    const Program program = testing::program_of({.name = "zb-h1", .p = 4, .m = 8, .cost = cost});
    const Timeline timeline = simulate(program);
    const double saved = in_units(timeline.makespan - makespan_if(program, {}, "W", 0.99), timeline.base);
    return std::pair(saved, 0.01 * in_units(ticks_of(timeline, "W"), timeline.base));
  };
  const auto [saved, share] = saved_and_share("F=1,I=1.1,W=0.7,comm=0.05");
  CHECK(share > 0);
  CHECK(saved == doctest::Approx(share));
  const auto [tied_saved, tied_share] = saved_and_share("F=1,I=1,W=1");
  CHECK(tied_saved < tied_share);
}

}  // namespace plumb

TEST_SUITE_END();
