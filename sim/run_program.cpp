#include "sim/run_program.hpp"

#include <string>

#include "models/ground/error.hpp"
#include "schedules/runnability/deadlock.hpp"
#include "sim/events/event_engine.hpp"
#include "sim/passes/one_pass.hpp"
#include "sim/rules/transfer_semantics.hpp"

namespace plumb {
namespace {

/// What a lane does by itself before it is ready holds up nobody else, so passes of several lanes would start apart.
void check_common_starts(const Program& program, const SimOptions& options) {
  if (program.together.empty()) return;
  const std::string what = "stages that start together: ";
  if (!program.transfers.empty() && rules_of(options.transfers).blocks_lane) {
    throw Error(what + "each device waits for its own messages by itself; expected transfers that block no device");
  }
  if (program.runtime.costs()) throw Error(what + "expected no runtime whose host and calls take time");
}

}  // namespace

RunTimes run_program(const ProgramIndex& indexed, const SimOptions& options) {
  const Program& program = indexed.program();
  check_common_starts(program, options);
  const auto reason = why_not_one_pass(program, options);
  if (options.engine == EngineChoice::kPass && reason) {
    throw Error("engine pass: " + *reason +
                ", which it cannot simulate; expected the event engine, which runs where no engine is asked for");
  }
  const bool by_events = options.engine == EngineChoice::kEvent || reason;
  if (auto times = by_events ? run_events(program, options) : run_one_pass(indexed, options)) return *std::move(times);
  throw_deadlock(program, options.transfers);
}

}  // namespace plumb
