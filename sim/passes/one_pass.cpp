#include "sim/passes/one_pass.hpp"

#include <algorithm>
#include <cassert>

#include "models/ground/huge_pages.hpp"
#include "schedules/program/waits.hpp"
#include "sim/passes/plain_passes.hpp"
#include "sim/rules/jitter.hpp"
#include "sim/rules/load_kinds.hpp"

namespace plumb {
namespace {

constexpr Ticks kUnknownTicks = TimedRun::kUnknown;

}  // namespace

OnePass::OnePass(const ProgramIndex& indexed, const SimOptions& options)
    : program_(indexed.program()),
      options_(options),
      rules_(rules_of(options.transfers)),
      jitter_(has_jitter(program_)),
      calls_(program_.runtime.has_calls()),
      run_(static_cast<std::size_t>(program_.num_devices)),
      open_calls_(calls_ ? program_.lane_begin.size() : 0) {
  const Program& program = program_;
  reserve_huge(times_.start, program.size());
  reserve_huge(times_.end, program.size());
  times_.start.resize(program.size());
  times_.end.assign(program.size(), kUnknownTicks);
  times_.collective_end.assign(program.collectives.size(), kUnknownTicks);
  if (program.runtime.costs()) times_.ready.assign(program.size(), kUnknownTicks);
  for (std::size_t d = 0; d + 1 < program.lane_begin.size(); ++d) {
    lanes_.push_back({.next = program.lane_begin[d], .begin = program.lane_begin[d]});
  }
  if (!program.transfers.empty()) prepare_transfers(indexed);
  prepare_collectives();
}

void OnePass::run() {
  run(std::span(program_.lane_begin).subspan(1));
  while (calls_ && answer_open_call()) go_on();
}

void OnePass::run(std::span<const InstrIndex> limits) {
  for (std::size_t d = lanes_.size(); d-- > 0;) {
    lanes_[d].limit = std::max(limits[d], lanes_[d].next);
    if (!lanes_[d].hangs) run_.wake(static_cast<std::uint32_t>(d));
  }
  go_on();
}

/// Lets lanes run until none can.
void OnePass::go_on() {
  if (program_.transfers.empty()) {
    run_.run([&](std::uint32_t lane) { advance<Messages::kNone>(lane); });
  } else if (calls_) {
    run_.run([&](std::uint32_t lane) { advance<Messages::kCalled>(lane); });
  } else {
    run_.run([&](std::uint32_t lane) { advance<Messages::kFree>(lane); });
  }
}

bool OnePass::finished() const {
  for (std::size_t d = 0; d < lanes_.size(); ++d) {
    if (lanes_[d].next != program_.lane_begin[d + 1]) return false;
  }
  return true;
}

void OnePass::shift(std::size_t lane, InstrIndex from, Ticks by) {
  for (InstrIndex i = from; i != lanes_[lane].next; ++i) {
    times_.start[i] += by;
    times_.end[i] += by;
  }
  lanes_[lane].clock += by;
}

void OnePass::shift_messages(std::size_t channel, std::uint32_t from, Ticks by) {
  ChannelState& state = channels_[channel];
  if (from == state.next) return;
  for (std::uint32_t place = from; place != state.next; ++place) {
    TransferTimes& times = times_.transfers[order_.items[place]];
    times.start += by;
    times.done += by;
    times.available += by;
  }
  state.free += by;
}

RunTimes OnePass::take_times() {
  assert(finished());
  for (std::size_t d = 0; d < lanes_.size(); ++d) {
    const InstrIndex end = program_.lane_begin[d + 1];
    if (lanes_[d].begin != end) times_.makespan = std::max(times_.makespan, times_.end[end - 1]);
  }
  for (const Ticks end : times_.collective_end) times_.makespan = std::max(times_.makespan, end);
  return std::move(times_);
}

void OnePass::prepare_transfers(const ProgramIndex& indexed) {
  const std::size_t count = program_.transfers.size();
  times_.transfers.assign(count, {.start = kUnknownTicks, .done = kUnknownTicks, .available = kUnknownTicks});
  offered_ = &offered(indexed, options_.transfers);
  sent_ = &indexed.sent();
  order_ = service_order(program_, options_.transfers);
  for (std::size_t c = 0; c < program_.channels.size(); ++c) {
    channels_.push_back({.next = order_.begin[c],
                         .end = order_.begin[c + 1],
                         .latency = latency_time(program_.channels[c].route, program_.base)});
  }
  if (calls_) {
    times_.issued.assign(program_.size(), kUnknownTicks);
    times_.called.assign(count, kUnknownTicks);
    for (Lane& lane : lanes_) lane.call = offered_->begin[lane.begin];
  }
  if (!rules_.needs_post) return;
  posts_ = &indexed.posted();
  posted_.assign(count, kUnknownTicks);
  batches_ = batches_of(program_, options_.transfers);
  if (rules_.batches) prepare_batches();
}

void OnePass::prepare_batches() {
  const std::size_t count = program_.transfers.size();
  times_.sent_at.assign(count, kUnknownTicks);
  for (const std::uint32_t size : batches_.size) batch_states_.push_back({.missing = size});
  const auto members = [&](const std::vector<std::uint32_t>& of) {
    return group_by(count, batches_.size.size() + 1,
                    [&](std::size_t t) { return of[t] == Batches::kNone ? batches_.size.size() : std::size_t{of[t]}; });
  };
  batch_sends_ = members(batches_.of_send);
  batch_receives_ = members(batches_.of_receive);
}

void OnePass::prepare_collectives() {
  for (std::uint32_t c = 0; c < program_.collectives.size(); ++c) {
    missing_.push_back(static_cast<std::uint32_t>(program_.collectives[c].members.size()));
    for (const InstrIndex member : program_.collectives[c].members) joins_.emplace_back(member, c);
  }
  std::ranges::sort(joins_);
  joined_.assign(missing_.size(), 0);
}

/// Runs the lane until it is done or waits for a moment that is not known yet.
template <OnePass::Messages kMessages>
void OnePass::advance(std::uint32_t self) {
  Lane& lane = lanes_[self];
  lane.hangs = false;
  for (;;) {
    if constexpr (kMessages == Messages::kCalled) {
      if (lane.phase == Phase::kCalls && !call_sends(lane, self)) return;
    }
    if (lane.next == lane.limit) return;
    prefetch_steps(program_, times_, lane.next);
    const InstrIndex end = unit_end(program_, lane.next);
    if constexpr (kMessages != Messages::kNone) {
      if (!reach_and_post<kMessages>(lane, self, end)) return;
    }
    if (!times_.ready.empty() && lane.phase != Phase::kReady) {
      lane.clock += host_before(program_, lane.next);
      times_.ready[lane.next] = lane.clock;
      lane.phase = Phase::kReady;
    }
    const std::optional<Ticks> start = start_of(lane, self, end);
    if (!start) return;
    const Ticks ended = *start + duration(lane.next, self);
    for (InstrIndex i = lane.next; i != end; ++i) {
      times_.start[i] = *start;
      run_.set(times_.end[i], ended);
    }
    lane.clock = ended;
    lane.phase = kMessages == Messages::kCalled ? Phase::kCalls : Phase::kReach;
    if constexpr (kMessages == Messages::kFree) offer(lane.next, end);
    if (!joins_.empty()) join(lane.next, end);
    lane.next = end;
  }
}

inline Ticks OnePass::duration(InstrIndex i, std::uint32_t lane) const {
  if (!jitter_) return program_.durations[program_.instrs[i].row];
  return duration_of(program_, i, DeviceId{static_cast<std::int32_t>(lane)}, options_.seed);
}

template <OnePass::Messages kMessages>
bool OnePass::reach_and_post(Lane& lane, std::uint32_t self, InstrIndex end) {
  if (lane.phase == Phase::kReach) {
    if (rules_.blocks_lane && !wait_for_own_messages(lane, self)) return false;
    if (rules_.batches) post<kMessages>(lane, end, true);
    lane.phase = Phase::kPost;
  }
  if (lane.phase == Phase::kPost) {
    for (InstrIndex i = lane.next; i != end; ++i) {
      for (const std::uint32_t t : sent_->of(i)) {
        if (!come_to(lane, self, times_.sent(t))) return false;
      }
    }
    if (rules_.needs_post) post<kMessages>(lane, end, false);
    lane.phase = Phase::kStart;
  }
  return true;
}

/// Blocking mode: everything issued at the unit before has arrived.
bool OnePass::wait_for_own_messages(Lane& lane, std::uint32_t self) {
  if (lane.next == lane.begin) return true;
  for (InstrIndex i = unit_before(program_, lane.next); i != lane.next; ++i) {
    for (const std::uint32_t t : offered_->of(i)) {
      if (program_.is_move(t)) continue;
      if (!come_to(lane, self, times_.transfers[t].available)) return false;
    }
  }
  return true;
}

/// Posts the receives of the unit: those in batches, or the others. Where that takes calls, each when its own is over.
template <OnePass::Messages kMessages>
void OnePass::post(Lane& lane, InstrIndex end, bool batched) {
  for (InstrIndex i = lane.next; i != end; ++i) {
    for (const std::uint32_t t : posts_->of(i)) {
      const bool in_batch = rules_.batches && batches_.of_receive[t] != Batches::kNone;
      if (in_batch != batched) continue;
      if constexpr (kMessages == Messages::kCalled) {
        lane.clock += program_.runtime.calls[t].receive;
        run_.set(posted_[t], lane.clock);
      } else {
        posted_[t] = lane.clock;  // nobody hangs on it
      }
      pump<kMessages>(program_.transfers[t].channel);
    }
  }
}

/// When everything that the unit waits for is there; nothing when the lane must wait for it.
inline std::optional<Ticks> OnePass::start_of(Lane& lane, std::uint32_t self, InstrIndex end) {
  Ticks start = lane.clock;
  const auto is_there = [&](const Wait& wait) {
    Ticks& moment = moment_of(times_, wait);
    if (must_wait(lane, self, moment)) return false;
    start = std::max(start, moment + latency_of(program_, wait));
    return true;
  };
  if (!all_waits(program_, lane.next, end, is_there)) return std::nullopt;
  return start;
}

/// Whether the moment is not known; then the lane hangs on it.
inline bool OnePass::must_wait(Lane& lane, std::uint32_t self, Ticks& moment) {
  const bool waits = run_.waits(self, moment);
  if (waits) lane.hangs = true;
  return waits;
}

/// Moves the lane's clock to `moment`; false when it is not known and the lane hangs on it.
bool OnePass::come_to(Lane& lane, std::uint32_t self, Ticks& moment) {
  if (must_wait(lane, self, moment)) return false;
  lane.clock = std::max(lane.clock, moment);
  return true;
}

void OnePass::offer(InstrIndex first, InstrIndex end) {
  for (InstrIndex i = first; i != end; ++i) {
    for (const std::uint32_t t : offered_->of(i)) pump<Messages::kFree>(program_.transfers[t].channel);
  }
}

/// Makes the calls that send what the unit before made, one after the other: each offers its message when it begins.
/// False when the lane hangs, because it must know first how long one of them takes.
bool OnePass::call_sends(Lane& lane, std::uint32_t self) {
  for (; lane.call != offered_->begin[lane.next]; ++lane.call) {
    const std::uint32_t t = offered_->items[lane.call];
    if (times_.called[t] < 0) {
      times_.called[t] = lane.clock;
      pump<Messages::kCalled>(program_.transfers[t].channel);
    }
    const std::optional<Ticks> takes = call_time(lane, self, t);
    if (!takes) return false;
    lane.clock += *takes;
  }
  times_.issued[unit_before(program_, lane.next)] = lane.clock;
  lane.phase = Phase::kReach;
  return true;
}

/// How long the call takes that sends `transfer` and begins at the lane's clock; nothing when the lane hangs on it.
std::optional<Ticks> OnePass::call_time(Lane& lane, std::uint32_t self, std::uint32_t transfer) {
  const CallTicks& call = program_.runtime.calls[transfer];
  if (!rules_.needs_post || call.send == call.send_posted) return call.send_posted;
  Ticks& posted = posted_[transfer];
  if (posted >= 0) {
    open_calls_.close(self);
    return posted < lane.clock ? call.send_posted : call.send;
  }
  const std::size_t receiver = index(program_.channels[program_.transfers[transfer].channel].to);
  if (lanes_[receiver].clock >= lane.clock) return call.send;  // it is posted at that clock or later
  must_wait(lane, self, posted);
  open_calls_.open(self, lane.clock);
  return std::nullopt;
}

/// When no lane can go on: the open call that begins first takes `send` (open_calls.hpp). False without open calls.
bool OnePass::answer_open_call() {
  const std::optional<std::uint32_t> self = open_calls_.take_earliest();
  if (!self) return false;
  Lane& lane = lanes_[*self];
  const std::uint32_t t = offered_->items[lane.call++];
  posted_[t] = kUnknownTicks;  // nobody but the sender hangs on it
  lane.clock += program_.runtime.calls[t].send;
  run_.wake(*self);
  return true;
}

/// Sends what the channel can send: its head until that is not offered or not posted.
template <OnePass::Messages kMessages>
void OnePass::pump(std::uint32_t channel) {
  ChannelState& state = channels_[channel];
  for (; state.next != state.end; ++state.next) {
    const std::uint32_t t = order_.items[state.next];
    const Transfer& transfer = program_.transfers[t];
    constexpr bool kCalled = kMessages == Messages::kCalled;
    const Ticks offered = kCalled ? times_.called[t] : times_.end[offered_by(transfer, options_.transfers)];
    if (offered < 0) return;
    Ticks start = std::max(offered, state.free);
    if (rules_.needs_post) {
      if (posted_[t] < 0) return;
      start = std::max(start, posted_[t]);
    }
    if (transfer.bytes != state.last_bytes) {
      state.last_bytes = transfer.bytes;
      state.last_sending = sending_time(transfer.bytes, program_.channels[channel].route, program_.base);
    }
    times_.transfers[t].start = start;
    state.free = start + state.last_sending;
    finish(t, state.free, state.latency);
  }
}

void OnePass::finish(std::uint32_t t, Ticks done, Ticks latency) {
  TransferTimes& times = times_.transfers[t];
  if (rules_.batches) times.done = done;
  const std::uint32_t sends = rules_.batches ? batches_.of_send[t] : Batches::kNone;
  const std::uint32_t receives = rules_.batches ? batches_.of_receive[t] : Batches::kNone;
  if (receives == Batches::kNone) run_.set(times.available, done + latency);
  if (sends == Batches::kNone) run_.set(times_.sent(t), done);
  if (receives != Batches::kNone) complete_in_batch(receives, done + latency);
  if (sends != Batches::kNone) complete_in_batch(sends, done);
}

void OnePass::complete_in_batch(std::uint32_t batch, Ticks at) {
  BatchState& state = batch_states_[batch];
  state.end = std::max(state.end, at);
  if (--state.missing != 0) return;
  for (const std::uint32_t t : batch_sends_.of(batch)) run_.set(times_.sent_at[t], state.end);
  for (const std::uint32_t t : batch_receives_.of(batch)) run_.set(times_.transfers[t].available, state.end);
}

void OnePass::join(InstrIndex first, InstrIndex end) {
  if (!joins_collective(program_.rows[program_.instrs[first].row].op)) return;
  for (auto at = std::ranges::lower_bound(joins_, std::pair(first, 0U)); at != joins_.end() && at->first < end; ++at) {
    const std::uint32_t c = at->second;
    joined_[c] = std::max(joined_[c], times_.end[at->first]);
    if (--missing_[c] == 0) run_.set(times_.collective_end[c], joined_[c] + program_.collectives[c].duration);
  }
}

std::optional<std::string> why_not_one_pass(const Program& program, const SimOptions& options) {
  const bool messages = program.transfers.size() > program.moves.size();
  if (messages && rules_of(options.transfers).pair_queues) return "both directions of a pair are one queue";
  if (is_contended(program)) return "actions take longer when others are under way";
  for (const Channel& channel : program.channels) {
    if (!channel.route.shared.empty()) return "links are shared by several pairs of devices";
    if (channel.route.half_duplex) return "links are half duplex";
  }
  return std::nullopt;
}

std::optional<RunTimes> run_one_pass(const ProgramIndex& indexed, const SimOptions& options) {
  if (has_plain_lanes(indexed.program())) return run_plain_times(indexed.program());
  OnePass pass(indexed, options);
  pass.run();
  if (!pass.finished()) return std::nullopt;
  return pass.take_times();
}

}  // namespace plumb
