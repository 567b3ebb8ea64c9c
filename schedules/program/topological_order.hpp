#pragma once

#include <vector>

#include "schedules/program/lane_run.hpp"
#include "schedules/program/program.hpp"
#include "schedules/program/waits.hpp"

namespace plumb {

/// Runs all units without times, messages taken as they are issued. `may_take(run, lane, first, end)` says whether a
/// lane may take the unit [first, end) once its inputs are there, or waits for something of its own by `run`; it is
/// asked before the inputs are looked at, and again when the lane was woken. `take(lane, first, end)` hears of every
/// unit that is taken. Returns whether all lanes have come to their ends.
template <class MayTake, class Take>
bool run_untimed(const Program& program, MayTake&& may_take, Take&& take) {
  std::vector<InstrIndex> next(program.lane_begin.begin(), program.lane_begin.end() - 1);
  std::vector<std::int32_t> ended(program.size(), UntimedRun::kUnknown);
  UntimedRun run(next.size());
  const auto inputs_are_there = [&](std::uint32_t lane, InstrIndex first, InstrIndex end) {
    return all_waits(program, first, end, [&](const Wait& wait) {
      return all_sources(program, wait, [&](InstrIndex source) { return !run.waits(lane, ended[source]); });
    });
  };
  std::size_t taken = 0;
  run.wake_all();
  run.run([&](std::uint32_t lane) {
    for (InstrIndex& first = next[lane]; first != program.lane_begin[lane + 1];) {
      const InstrIndex end = unit_end(program, first);
      if (!may_take(run, lane, first, end) || !inputs_are_there(lane, first, end)) return;
      take(lane, first, end);
      for (; first != end; ++first, ++taken) run.set(ended[first], kHasCome);
    }
  });
  return taken == program.size();
}

/// An order of all instrs in which everything an instr waits for comes first: every lane as far as it gets. Shorter
/// than the program when it deadlocks: then it ends where all lanes stand still (`run_order` throws instead).
std::vector<InstrIndex> topological_order(const Program& program);

}  // namespace plumb
