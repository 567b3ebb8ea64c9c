#include "trainer/train.hpp"

#include "trainer/training_run.hpp"

namespace plumb {

TrainResult train(const TrainOptions& options) {
  TrainingRun run(options);
  const std::span lanes(run.plan().program.lane_begin);
  for (;;) {
    run.run_to(lanes.subspan(1));
    if (run.pass() + 1 == run.passes()) break;
    run.next_pass();
  }
  return run.result();
}

}  // namespace plumb
