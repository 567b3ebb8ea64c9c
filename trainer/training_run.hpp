#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/run_times.hpp"
#include "trainer/device_worker.hpp"
#include "trainer/executor.hpp"
#include "trainer/loss_log.hpp"
#include "trainer/mailbox.hpp"
#include "trainer/run_clock.hpp"
#include "trainer/run_plan.hpp"

namespace plumb {

/// A run under way: its devices, what travels between them, and how far they are. What `train` drives and a checkpoint
/// saves.
class TrainingRun {
 public:
  /// Allocates and initializes everything. `options` must outlive the run.
  explicit TrainingRun(const TrainOptions& options);

  const RunPlan& plan() const { return plan_; }
  /// Runs of the document that the run consists of, and the one under way.
  std::int64_t passes() const { return passes_; }
  std::int64_t pass() const { return pass_; }

  /// Every device goes on to its limit (a consistent cut; trainer/executor.hpp).
  void run_to(std::span<const InstrIndex> limits);
  /// The document begins anew with the next microbatches.
  void next_pass();
  /// Every device has reached `positions` already.
  bool is_behind(std::span<const InstrIndex> positions) const;

  /// A pause does not count as time of the run.
  RunClock& clock() { return clock_; }
  std::span<const std::unique_ptr<DeviceWorker>> workers() const { return workers_; }
  std::vector<InstrIndex> positions() const;
  Mailbox& mailbox() { return mailbox_; }
  LossLog& losses() { return losses_; }

  /// The run goes on in the middle of `pass`, as a checkpoint says; the timeline of that pass is lost.
  void resume(std::int64_t pass, std::span<const InstrIndex> positions, Mailbox::Contents contents);

  /// Everything about the run so far.
  TrainResult result() const;

 private:
  void start_pass();

  RunPlan plan_;
  const Executor& executor_;
  std::int64_t passes_;
  std::int64_t pass_ = 0;
  bool whole_pass_ = true;  ///< the document under way was begun here, not in an earlier process
  RunClock clock_;
  RunTimes times_;
  LossLog losses_;
  Mailbox mailbox_;
  std::vector<std::unique_ptr<DeviceWorker>> workers_;
};

}  // namespace plumb
