#include "sim/events/event_engine.hpp"
#include "schedules/program/lane_run.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/ground/huge_pages.hpp"
#include "schedules/program/waits.hpp"
#include "sim/events/compute_share.hpp"
#include "sim/events/event_queue.hpp"
#include "sim/events/link_servers.hpp"
#include "sim/rules/jitter.hpp"
#include "sim/rules/load_kinds.hpp"
#include "sim/rules/transfer_notes.hpp"

namespace plumb {
namespace {

constexpr std::size_t kNotesAhead = kStepsAhead;
constexpr std::size_t kMessagesAhead = 4;

/// What a lane does next at its instr (sim/rules/transfer_semantics.hpp, "Moments of a lane").
enum class Step : std::uint8_t { kCalls, kReach, kSends, kPost, kInputs, kRun };

struct EventLane {
  InstrIndex end = 0;
  InstrIndex next = 0;
  InstrIndex unit_end = 0;  ///< the first instr after the unit of `next`
  InstrIndex previous = 0;  ///< the unit before; `next` at the lane's begin
  std::uint32_t wait = 0;   ///< the first wait of the unit that is not known to be over
  std::uint32_t offer = 0;  ///< the first note not yet dealt with; likewise `send` and `post`
  std::uint32_t send = 0;
  std::uint32_t post = 0;
  std::uint32_t own = 0;      ///< the first offer of the unit before
  std::uint32_t posting = 0;  ///< where posting takes time: the first post not yet made
  bool in_call = false;       ///< it is being made
  Step step = Step::kReach;
  Ticks clock = 0;
};

class EventEngine {
 public:
  EventEngine(const Program& program, const SimOptions& options)
      : program_(program),
        options_(options),
        rules_(rules_of(options.transfers)),
        jitter_(has_jitter(program)),
        contended_(is_contended(program)),
        hosted_(program.runtime.costs()),
        calls_(program.runtime.has_calls()),
        first_other_slot_(static_cast<std::uint32_t>(program.num_devices) +
                          static_cast<std::uint32_t>(program.channels.size())),
        queue_(first_other_slot_ + ComputeShare::slots(program)),
        run_(static_cast<std::size_t>(program.num_devices)),
        compute_(program, queue_, first_other_slot_),
        links_(program, options.transfers, queue_, run_, times_) {
    if (contended_) links_.tell(compute_);
    reserve_huge(times_.start, program.size());
    reserve_huge(times_.end, program.size());
    times_.start.assign(program.size(), TimedRun::kUnknown);
    times_.end.assign(program.size(), TimedRun::kUnknown);
    times_.collective_end.assign(program.collectives.size(), TimedRun::kUnknown);
    if (hosted_) times_.ready.assign(program.size(), TimedRun::kUnknown);
    if (calls_) times_.issued.assign(program.size(), TimedRun::kUnknown);
    if (calls_) times_.called.assign(program.transfers.size(), TimedRun::kUnknown);
    for (std::size_t d = 0; d + 1 < program.lane_begin.size(); ++d) {
      EventLane& lane = lanes_.emplace_back();
      lane.end = program.lane_begin[d + 1];
      lane.previous = program.lane_begin[d];
      enter(lane, program.lane_begin[d]);
    }
    if (!program.transfers.empty()) index_transfers();
    index_collectives();
  }

  std::optional<RunTimes> run() {
    const bool transfers = !program_.transfers.empty();
    if (contended_) {
      transfers ? run_all<true, true>() : run_all<false, true>();
    } else {
      transfers ? run_all<true, false>() : run_all<false, false>();
    }
    for (const EventLane& lane : lanes_) {
      if (lane.next != lane.end) return std::nullopt;
      if (lane.previous != lane.end) times_.makespan = std::max(times_.makespan, times_.end[lane.previous]);
    }
    for (const Ticks end : times_.collective_end) times_.makespan = std::max(times_.makespan, end);
    return std::move(times_);
  }

 private:
  void index_transfers() {
    notes_ = lane_notes(program_, options_.transfers, links_.batches());
    for (EventLane& lane : lanes_) {
      lane.offer = lane.own = first_note(notes_.offers, lane.next);
      lane.send = first_note(notes_.sends, lane.next);
      lane.post = lane.posting = first_note(notes_.posts, lane.next);
    }
  }

  void index_collectives() {
    for (std::uint32_t c = 0; c < program_.collectives.size(); ++c) {
      missing_.push_back(static_cast<std::uint32_t>(program_.collectives[c].members.size()));
      for (const InstrIndex member : program_.collectives[c].members) joins_.emplace_back(member, c);
    }
    std::ranges::sort(joins_);
  }

  /// Puts the lane before the unit of `next`.
  void enter(EventLane& lane, InstrIndex next) {
    lane.next = next;
    lane.step = Step::kReach;
    if (next == lane.end) return;
    lane.unit_end = unit_end(program_, next);
    lane.wait = program_.instrs[next].first_wait;
  }

  template <bool kTransfers, bool kContended>
  void run_all() {
    for (std::uint32_t d = 0; d < lanes_.size(); ++d) advance<kTransfers, kContended>(d, 0);
    const auto lanes = static_cast<std::uint32_t>(lanes_.size());
    Ticks now = 0;
    for (;;) {
      while (run_.has_woken()) advance<kTransfers, kContended>(run_.take_woken(), now);
      if (must_update<kTransfers, kContended>(now)) continue;
      if (queue_.empty()) return;
      const EventQueue::Event event = queue_.take();
      now = event.time;
      if (event.slot < lanes) {
        if (lanes_[event.slot].step == Step::kRun) end_unit<kTransfers, kContended>(lanes_[event.slot], now);
        advance<kTransfers, kContended>(event.slot, now);
      } else if (!kContended || event.slot < first_other_slot_) {
        links_.finish(event.slot - lanes, now);
      } else {
        compute_.handle(event.slot);
      }
    }
  }

  /// When nothing else happens at `now`, lets links be divided, then devices; true when one of them had to be.
  template <bool kTransfers, bool kContended>
  bool must_update(Ticks now) {
    const bool links = kTransfers && !links_.is_up_to_date();
    const bool compute = kContended && !compute_.is_up_to_date();
    if (!links && !compute) return false;
    if (!queue_.empty() && queue_.first().time <= now) return false;
    links ? links_.update(now) : compute_.update_rates(now);
    return true;
  }

  template <bool kTransfers, bool kContended>
  void end_unit(EventLane& lane, Ticks now) {
    if constexpr (kContended) compute_.finish(static_cast<std::uint32_t>(&lane - lanes_.data()));
    for (InstrIndex i = lane.next; i != lane.unit_end; ++i) run_.set(times_.end[i], now);
    if constexpr (kTransfers) {
      if (!calls_) offer(lane, now);
    }
    if (!joins_.empty()) join(lane, now);
    lane.previous = lane.next;
    lane.clock = now;
    enter(lane, lane.unit_end);
    if (!kTransfers || !calls_) return;
    lane.own = lane.offer;
    lane.step = Step::kCalls;
  }

  void offer(EventLane& lane, Ticks now) {
    const TransferNotes& offers = notes_.offers;
    lane.own = lane.offer;
    for (; offers[lane.offer].at < lane.unit_end; ++lane.offer) {
      links_.offer(offers[lane.offer].channel, offers[lane.offer].transfer, now);
      const std::uint32_t ahead = offers[std::min(lane.offer + kMessagesAhead, offers.size() - 2)].transfer;
      __builtin_prefetch(&times_.transfers[ahead], 1);
      __builtin_prefetch(&program_.transfers[ahead].bytes);
    }
    __builtin_prefetch(offers.data() + lane.offer + kNotesAhead);
  }

  /// Takes the lane as far as it gets at `now`.
  template <bool kTransfers, bool kContended>
  void advance(std::uint32_t self, Ticks now) {
    EventLane& lane = lanes_[self];
    if (lane.step == Step::kRun) return;
    if constexpr (kTransfers) {
      if (lane.step == Step::kCalls && !call_sends(lane, self, now)) return;
    }
    if (lane.next == lane.end) return;
    if constexpr (kTransfers) {
      if (lane.step != Step::kInputs && !prepare(lane, self, now)) return;
    }
    if (hosted_ && lane.step != Step::kInputs) {
      lane.clock += host_before(program_, lane.next);
      times_.ready[lane.next] = lane.clock;
    }
    lane.step = Step::kInputs;
    const std::uint32_t waits = program_.instrs[lane.unit_end].first_wait;
    for (; lane.wait != waits; ++lane.wait) {
      const Wait& wait = program_.waits[lane.wait];
      Ticks& moment = moment_of(times_, wait);
      if (run_.waits(self, moment)) return;
      lane.clock = std::max(lane.clock, moment + latency_of(program_, wait));
    }
    // Others feel an action from the moment when it begins.
    if (kContended && !be_there(lane, self, now)) return;
    start_unit<kContended>(lane, self);
  }

  template <bool kContended>
  void start_unit(EventLane& lane, std::uint32_t self) {
    prefetch_steps(program_, times_, lane.next);
    for (InstrIndex i = lane.next; i != lane.unit_end; ++i) times_.start[i] = lane.clock;
    lane.step = Step::kRun;
    const Ticks alone = duration(lane.next, self);
    if (kContended && alone > 0) {
      compute_.start(self, program_.instrs[lane.next].row, alone, lane.clock);
    } else {
      queue_.schedule(self, lane.clock + alone);
    }
  }

  Ticks duration(InstrIndex i, std::uint32_t lane) const {
    if (!jitter_) return program_.durations[program_.instrs[i].row];
    return duration_of(program_, i, DeviceId{static_cast<std::int32_t>(lane)}, options_.seed);
  }

  /// Everything before the inputs: own messages, waits of sends, posts. False when the lane must come back later.
  bool prepare(EventLane& lane, std::uint32_t self, Ticks now) {
    if (lane.step == Step::kReach) {
      if (rules_.blocks_lane && !wait_for_own_messages(lane, self)) return false;
      if (!be_there(lane, self, now)) return false;
      if (rules_.batches && !post(lane, self, now, true)) return false;
      lane.step = Step::kSends;
    }
    if (lane.step == Step::kSends) {
      for (; notes_.sends[lane.send].at < lane.unit_end; ++lane.send) {
        if (!wait(lane, self, times_.sent(notes_.sends[lane.send].transfer))) return false;
      }
      __builtin_prefetch(notes_.sends.data() + lane.send + kNotesAhead);
      lane.step = Step::kPost;
    }
    if (!rules_.needs_post) return true;
    return be_there(lane, self, now) && post(lane, self, now, false);
  }

  /// Blocking mode: everything issued at the unit before has arrived.
  bool wait_for_own_messages(EventLane& lane, std::uint32_t self) {
    for (std::uint32_t own = lane.own; own != lane.offer; ++own) {
      if (program_.is_move(notes_.offers[own].transfer)) continue;
      if (!wait(lane, self, times_.transfers[notes_.offers[own].transfer].available)) return false;
    }
    return true;
  }

  /// Moves the lane's clock to `moment`; false when it is not known yet.
  bool wait(EventLane& lane, std::uint32_t self, Ticks& moment) {
    if (run_.waits(self, moment)) return false;
    lane.clock = std::max(lane.clock, moment);
    return true;
  }

  /// Whether the lane's clock has come; otherwise it comes back at that moment.
  bool be_there(const EventLane& lane, std::uint32_t self, Ticks now) {
    if (lane.clock <= now) return true;
    queue_.schedule(self, lane.clock);
    return false;
  }

  /// Where sending takes time: makes the calls that send what the unit before made. False when the lane must come back
  /// later.
  bool call_sends(EventLane& lane, std::uint32_t self, Ticks now) {
    const TransferNotes& offers = notes_.offers;
    for (; offers[lane.offer].at < lane.next; ++lane.offer) {
      if (!be_there(lane, self, now)) return false;
      const auto [at, transfer, channel] = offers[lane.offer];
      const bool posted = links_.was_posted(channel, now);
      const CallTicks& call = program_.runtime.calls[transfer];
      lane.clock += posted ? call.send_posted : call.send;
      times_.called[transfer] = now;
      links_.offer(channel, transfer, now);
    }
    times_.issued[lane.previous] = lane.clock;
    lane.step = Step::kReach;
    return true;
  }

  /// Posts the receives of the unit: first, when the lane is there, those in batches; then the others. Where that takes
  /// time, each is posted at the end of its call. False when the lane must come back later.
  bool post(EventLane& lane, std::uint32_t self, Ticks now, bool batched) {
    for (; notes_.posts[lane.posting].at < lane.unit_end; ++lane.posting) {
      const TransferNote& note = notes_.posts[lane.posting];
      const bool in_batch = (note.channel & TransferNote::kBatchBit) != 0;
      if (in_batch != batched) continue;
      if (calls_ && !lane.in_call) lane.clock += program_.runtime.calls[note.transfer].receive;
      lane.in_call = true;
      if (calls_ && !be_there(lane, self, now)) return false;
      lane.in_call = false;
      links_.post(note.channel & ~TransferNote::kBatchBit, now);
    }
    if (!batched) lane.post = lane.posting;
    lane.posting = lane.post;
    __builtin_prefetch(notes_.posts.data() + lane.post + kNotesAhead);
    return true;
  }

  void join(const EventLane& lane, Ticks now) {
    if (!joins_collective(program_.rows[program_.instrs[lane.next].row].op)) return;
    const auto from = std::ranges::lower_bound(joins_, std::pair(lane.next, 0U));
    for (auto at = from; at != joins_.end() && at->first < lane.unit_end; ++at) {
      const std::uint32_t c = at->second;
      if (--missing_[c] != 0) continue;
      run_.set(times_.collective_end[c], now + program_.collectives[c].duration);
      if (contended_) compute_.begin_collective(c, now);
    }
  }

  const Program& program_;
  const SimOptions& options_;
  TransferRules rules_;
  bool jitter_;
  RunTimes times_;
  bool contended_;
  bool hosted_;                     ///< the runtime costs something
  bool calls_;                      ///< so do its calls
  std::uint32_t first_other_slot_;  ///< first slot of the queue that is neither a lane nor a link
  EventQueue queue_;
  TimedRun run_;
  ComputeShare compute_;  ///< touched only where something is contended
  LinkServers links_;
  std::vector<EventLane> lanes_;
  LaneNotes notes_;
  std::vector<std::pair<InstrIndex, std::uint32_t>> joins_;  ///< (member, collective), sorted
  std::vector<std::uint32_t> missing_;                       ///< by collective: members that have not joined
};

}  // namespace

std::optional<RunTimes> run_events(const Program& program, const SimOptions& options) {
  return EventEngine(program, options).run();
}

}  // namespace plumb
