#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/rules/run_times.hpp"
#include "trainer/device/device_worker.hpp"
#include "trainer/executors/executor.hpp"
#include "trainer/executors/stream_run.hpp"
#include "trainer/ground/device_clock.hpp"
#include "trainer/links/process_transport.hpp"
#include "trainer/paced/paced_transport.hpp"
#include "trainer/plan/run_plan.hpp"
#include "trainer/transport/loss_log.hpp"
#include "trainer/transport/mailbox.hpp"

namespace plumb {

/// A run in progress: its devices, their positions, and the messages in flight between them. `train` drives it, and a
/// checkpoint saves it. With several processes every process has one, with its own device.
class TrainingRun {
 public:
  /// Allocates and initializes everything, without talking to other processes. `options` must outlive the run.
  explicit TrainingRun(const TrainOptions& options);
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;
  ~TrainingRun();

  /// Connects several processes: called in all of them, before anything runs.
  void connect();
  const RunPlan& plan() const { return plan_; }
  /// Returns how many times the document is run, and the number of the current time.
  std::int64_t passes() const { return passes_; }
  std::int64_t pass() const { return pass_; }

  /// Runs every device to its limit (a consistent cut; trainer/executors/run_part.hpp). Time between such calls does
  /// not count.
  void run_to(std::span<const InstrIndex> limits);
  /// Returns how long the document took the devices here; nothing when an earlier process began it.
  std::optional<Ticks> document_time() const;
  /// Starts the document again, with the next microbatches.
  void next_pass();
  /// Every device has reached `positions` already.
  bool has_passed(std::span<const InstrIndex> positions) const;

  /// Returns the workers by device; null for those of other processes.
  std::span<const std::unique_ptr<DeviceWorker>> workers() const { return workers_; }
  /// Returns the positions of all devices.
  std::span<const InstrIndex> positions() const { return positions_; }
  /// Returns the group of processes, or null when all devices are here.
  ProcessGroup* processes() const { return plan_.options.execution.processes; }
  /// Returns the messages and reductions that cross the cut where the run stands.
  Mailbox::Contents under_way() { return streams_ ? streams_->contents() : mailbox_.contents(); }
  LossLog& losses() { return losses_; }

  /// Continues in the middle of `pass`, where a checkpoint was saved; that pass has no timeline.
  void resume(std::int64_t pass, std::span<const InstrIndex> positions, Mailbox::Contents contents);

  /// Returns the newest weights of every stage, by name; in processes other than the first, nothing.
  NamedValues newest_weights() const;
  /// Returns everything about the run so far; in processes other than the first, nothing.
  TrainResult result() const;

 private:
  void start_pass();
  void run_part(std::span<const InstrIndex> limits);
  /// Runs `part`. When processes fail together, the exception that leaves is the cause: a process that was only
  /// aborted, or has only lost a peer, waits for the process that knows the cause to report it.
  template <class Part>
  void rethrow_root_cause(const Part& part);
  /// A link has lost its peer: waits some seconds for the cause, which a peer or a link of this process reports, and
  /// throws it.
  void await_reason();
  bool is_here(std::int32_t device) const;
  RunOutputs outputs_of(DeviceId device);

  RunPlan plan_;
  const Executor& executor_;
  std::int64_t passes_;
  std::int64_t pass_ = 0;
  bool whole_pass_ = true;  ///< the document under way was begun here, not in an earlier process
  RunClocks clocks_;
  RunTimes times_;
  LossLog losses_;
  MicrobatchCache data_;
  Mailbox mailbox_;
  std::unique_ptr<ProcessTransport> between_processes_;  ///< null when all devices are here
  std::unique_ptr<PacedTransport> paced_;                ///< null: the back end is not paced
  std::unique_ptr<StreamRun> streams_;                   ///< null: the executor has no queues
  std::vector<std::unique_ptr<DeviceWorker>> workers_;
  std::vector<InstrIndex> positions_;
};

}  // namespace plumb
