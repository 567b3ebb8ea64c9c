#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tests/support/happens_before.hpp"
#include "tests/support/immediate_streams.hpp"
#include "tests/support/recorded_streams.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/backends/cpu_backend.hpp"

namespace plumb {

/// A run and what it has asked a machine for.
struct RecordedRun {
  TrainResult result;
  StreamLog log;
};

/// The work is really done, at once, so that what depends on numbers takes its true course.
inline RecordedRun recorded_run(TrainOptions options) {
  RecordedStreams machine(immediate_streams(add_on_cpu));
  options.execution.executor = "streams";
  options.hooks.own_streams = &machine;
  RecordedRun run;
  run.result = train(options);
  run.log = machine.log();
  return run;
}

/// A small run of every schedule of the catalogue.
template <class Visit>
void for_each_schedule(std::int32_t p, std::int64_t m, Visit&& visit) {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    auto options = tiny_run(spec, {.num_devices = p, .num_microbatches = m, .updates = 2}, spec.name == "chimera");
    if (!options) continue;
    options->model.numbers = NumberType::kFloat32;
    visit(std::string(spec.name), *options);
  }
}

}  // namespace plumb
