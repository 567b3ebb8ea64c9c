#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schedules/program/index_lists.hpp"
#include "schedules/program/lane_run.hpp"
#include "schedules/program/program.hpp"
#include "schedules/program/program_index.hpp"
#include "sim/passes/open_calls.hpp"
#include "sim/rules/run_times.hpp"
#include "sim/rules/sim_options.hpp"

namespace plumb {

// The fast engine: every lane runs until it needs something that does not exist yet, then waits on exactly that thing,
// whose arrival wakes it. Each instr is looked at once and each wait at most twice, so a run costs O(instrs + waits +
// transfers), without queue and clock; only calls that send may stand in a queue, one per lane (open_calls.hpp). It
// needs an order that is fixed before the run: in-order lanes, channels that serve their messages in a known order, and
// no link that several channels share.

/// Why one pass cannot run this program ("links are shared"); empty when it can.
std::optional<std::string> why_not_one_pass(const Program& program, const SimOptions& options);

/// When everything happens. Requires `!why_not_one_pass(indexed.program(), options)`. Empty when the lanes deadlock.
std::optional<RunTimes> run_one_pass(const ProgramIndex& indexed, const SimOptions& options);

/// The state of such a run, which can stop at chosen positions of the lanes and go on.
class OnePass {
 public:
  /// Both must outlive this. Requires `!why_not_one_pass(indexed.program(), options)`.
  OnePass(const ProgramIndex& indexed, const SimOptions& options);

  /// Lets every lane run as far as it gets, but not beyond `limits` (by device, between units). Without limits: to its
  /// end. Limits may leave lanes that hang on open calls (open_calls.hpp).
  void run();
  void run(std::span<const InstrIndex> limits);

  /// Whether every lane has reached its end.
  bool finished() const;

  /// The next instr of a lane, and the end of the one before and of the calls after it.
  InstrIndex position(std::size_t lane) const { return lanes_[lane].next; }
  Ticks clock(std::size_t lane) const { return lanes_[lane].clock; }

  /// Moves the lane's clock and the times of [`from`, position) by `by`, as if what came before had taken longer.
  void shift(std::size_t lane, InstrIndex from, Ticks by);

  /// Messages stand in the order of service, channel by channel: where those of a channel begin, and after the last
  /// one that is sent; when that one was done.
  std::uint32_t first(std::size_t channel) const { return order_.begin[channel]; }
  std::uint32_t served(std::size_t channel) const { return channels_[channel].next; }
  Ticks free(std::size_t channel) const { return channels_[channel].free; }
  std::uint32_t message(std::uint32_t place) const { return order_.items[place]; }

  /// Moves the times of the channel's messages from place `from` on by `by`.
  void shift_messages(std::size_t channel, std::uint32_t from, Ticks by);

  /// Times so far; below 0 where not known.
  const RunTimes& times() const { return times_; }

  /// All times. Requires `finished()`; leaves this empty.
  RunTimes take_times();

 private:
  /// What a lane does next at its instr (sim/rules/transfer_semantics.hpp, "Moments of a lane").
  enum class Phase : std::uint8_t { kCalls, kReach, kPost, kStart, kReady };

  /// What a program knows of messages: none, messages that cost the lanes nothing, or calls that occupy them.
  enum class Messages : std::uint8_t { kNone, kFree, kCalled };

  struct Lane {
    InstrIndex next = 0;
    InstrIndex begin = 0;
    InstrIndex limit = 0;
    Ticks clock = 0;
    std::uint32_t call = 0;  ///< into `offered_`: the next message that the lane sends, where that takes a call
    Phase phase = Phase::kReach;
    bool hangs = false;  ///< waits for a moment that is not known
  };

  struct ChannelState {
    std::uint32_t next = 0;  ///< into the service order
    std::uint32_t end = 0;
    Ticks free = 0;
    Ticks latency = 0;
    std::int64_t last_bytes = -1;  ///< messages of a channel mostly have one size: its sending time is kept
    Ticks last_sending = 0;
  };

  /// A send and receive batch under way.
  struct BatchState {
    std::uint32_t missing = 0;
    Ticks end = 0;
  };

  void prepare_transfers(const ProgramIndex& indexed);
  void prepare_batches();
  void prepare_collectives();

  template <Messages kMessages>
  void advance(std::uint32_t self);
  Ticks duration(InstrIndex i, std::uint32_t self) const;

  template <Messages kMessages>
  bool reach_and_post(Lane& lane, std::uint32_t self, InstrIndex end);
  bool wait_for_own_messages(Lane& lane, std::uint32_t self);
  template <Messages kMessages>
  void post(Lane& lane, InstrIndex end, bool batched);
  std::optional<Ticks> start_of(Lane& lane, std::uint32_t self, InstrIndex end);

  bool must_wait(Lane& lane, std::uint32_t self, Ticks& moment);
  bool come_to(Lane& lane, std::uint32_t self, Ticks& moment);

  void offer(InstrIndex first, InstrIndex end);
  template <Messages kMessages>
  void pump(std::uint32_t channel);
  void finish(std::uint32_t transfer, Ticks done, Ticks latency);
  void complete_in_batch(std::uint32_t batch, Ticks at);
  bool call_sends(Lane& lane, std::uint32_t self);
  std::optional<Ticks> call_time(Lane& lane, std::uint32_t self, std::uint32_t transfer);
  bool answer_open_call();
  void go_on();
  void join(InstrIndex first, InstrIndex end);

  const Program& program_;
  const SimOptions& options_;
  TransferRules rules_;
  bool jitter_;
  bool calls_;  ///< sending and receiving occupies the lanes
  RunTimes times_;
  std::vector<Lane> lanes_;
  TimedRun run_;

  std::vector<ChannelState> channels_;
  const IndexLists* offered_ = nullptr;  ///< transfers by the instr whose end offers them
  const IndexLists* sent_ = nullptr;     ///< transfers by `Transfer::sent`
  const IndexLists* posts_ = nullptr;    ///< transfers by `Transfer::post`; where posts matter
  IndexLists order_;                     ///< transfers by channel, as served
  std::vector<Ticks> posted_;
  OpenCalls open_calls_;

  Batches batches_;
  IndexLists batch_sends_;
  IndexLists batch_receives_;
  std::vector<BatchState> batch_states_;

  std::vector<std::pair<InstrIndex, std::uint32_t>> joins_;  ///< (member, collective), sorted
  std::vector<std::uint32_t> missing_;                       ///< by collective: members that have not joined
  std::vector<Ticks> joined_;                                ///< by collective: the last end of a member so far
};

}  // namespace plumb
