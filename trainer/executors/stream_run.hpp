#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "trainer/links/staged_transport.hpp"
#include "trainer/links/stream_messages.hpp"
#include "trainer/links/stream_reductions.hpp"
#include "trainer/plan/run_plan.hpp"
#include "trainer/transport/loss_log.hpp"
#include "trainer/transport/mailbox.hpp"

namespace plumb {

/// What a run with streams has besides its workers: queues, messages and reductions of all devices. Small data that the
/// host has to know anyway (norms of gradients, weights that are synchronized), and what comes from a checkpoint, go
/// through the mailbox.
class StreamRun {
 public:
  /// All must outlive this. The machine is the back end's, unless the options bring their own. `between`: of several
  /// processes, where only the own device is here; otherwise null.
  StreamRun(const RunPlan& plan, Mailbox& mailbox, ProcessTransport* between);
  StreamRun(const StreamRun&) = delete;
  StreamRun& operator=(const StreamRun&) = delete;
  ~StreamRun();

  DeviceQueue& queue(DeviceId device) { return *queues_[index(device)]; }
  Transport& transport(DeviceId device);
  bool is_posted(std::uint32_t transfer) const { return messages_.is_posted(transfer); }
  std::string description() const;

  /// Connects the links of several processes: called in all of them, once, before anything runs.
  void connect();
  /// Call these around every part of the run, in which the devices go from `positions` to `limits`. `finish` waits for
  /// all work, and fills in times by `clock`, and losses.
  void begin(std::span<const InstrIndex> positions, std::span<const InstrIndex> limits);
  void finish(const RunClock& clock, RunTimes& times, LossLog& losses);
  /// Returns when reductions ended; -1 where they have not.
  const std::vector<Ticks>& collective_ends() const { return collective_ends_; }

  /// Abandons a part that was not finished: waits for links end, and nothing is in flight after this.
  void leave();
  /// Throws when the run was aborted, or a link has failed.
  void check();

  /// The document starts again, or continues from `contents`.
  void restart(const Mailbox::Contents& contents);
  /// Returns the messages and reductions that cross a cut. Call it after `finish`.
  Mailbox::Contents contents();

 private:
  class Port;

  void watch();
  [[noreturn]] void give_up();

  const RunPlan& plan_;
  Mailbox& mailbox_;
  std::unique_ptr<StreamMachine> own_machine_;
  StreamMachine& machine_;
  StreamOrder order_;
  TimeMarks marks_;
  std::vector<DeviceQueue*> here_;                    ///< queues of this process
  std::vector<std::unique_ptr<DeviceQueue>> queues_;  ///< by device; null: of another process
  StreamMessages messages_;
  StreamReductions reductions_;
  std::vector<std::unique_ptr<Transport>> ports_;  ///< ports by device; empty with several processes
  std::unique_ptr<LinkMessages> links_;            ///< messages between several processes, if they have links
  std::unique_ptr<StagedTransport> staged_;        ///< transport between several processes
  std::set<std::uint32_t> host_collectives_;       ///< collectives that the mailbox has
  bool under_way_ = false;
  std::vector<Ticks> collective_ends_;
  /// By device: how far it was at which event.
  std::vector<std::vector<std::pair<InstrIndex, EventId>>> passed_;
};

}  // namespace plumb
