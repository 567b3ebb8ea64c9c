#include <algorithm>
#include <cmath>
#include <vector>

#include "schedules/program/waits.hpp"
#include "sim/rules/transfer_semantics.hpp"
#include "tests/support/reference_engine.hpp"

namespace plumb::testing {
namespace {

constexpr Ticks kUnknown = -1;
constexpr std::int64_t kWhole = 1'000'000'000;

std::int64_t billionths(double share) { return std::llround(share * 1e9); }

struct ReferenceLane {
  InstrIndex next = 0;
  InstrIndex end = 0;
  bool running = false;
  std::int64_t left = 0;  ///< billionths of ticks
  std::int64_t rate = 0;
};

class TickByTick {
 public:
  TickByTick(const Program& program, TransferMode mode)
      : program_(program), mode_(mode), order_(service_order(program, mode)) {
    times_.start.assign(program.size(), kUnknown);
    times_.end.assign(program.size(), kUnknown);
    times_.transfers.assign(program.transfers.size(), {kUnknown, kUnknown, kUnknown});
    times_.collective_end.assign(program.collectives.size(), kUnknown);
    for (std::size_t d = 0; d + 1 < program.lane_begin.size(); ++d) {
      lanes_.push_back({.next = program.lane_begin[d], .end = program.lane_begin[d + 1]});
    }
    served_.assign(program.channels.size(), 0);
    clock_.assign(lanes_.size(), allowed(0));
    target_ = clock_;
  }

  std::optional<RunTimes> run(Ticks patience) {
    Ticks moved = 0;
    for (now_ = 0; !finished(); ++now_) {
      if (now_ > 0) move_clocks();
      while (happen()) moved = now_;
      if (now_ - moved > patience) return std::nullopt;
      for (ReferenceLane& lane : lanes_) lane.left -= lane.running ? lane.rate : 0;
    }
    times_.makespan = 0;
    for (const Ticks end : times_.end) times_.makespan = std::max(times_.makespan, end);
    for (const Ticks end : times_.collective_end) times_.makespan = std::max(times_.makespan, end);
    return times_;
  }

 private:
  bool finished() const {
    const bool lanes = std::ranges::all_of(lanes_, [](const ReferenceLane& lane) { return lane.next == lane.end; });
    return lanes && std::ranges::all_of(times_.transfers, [](const TransferTimes& t) { return t.done != kUnknown; });
  }

  /// Everything of this tick that can happen; then everybody gets a new rate. False when nothing happened.
  bool happen() {
    bool any = false;
    for (bool more = true; more; any |= more) {
      more = false;
      for (ReferenceLane& lane : lanes_) more |= end(lane);
      for (ReferenceLane& lane : lanes_) more |= begin(lane);
      for (std::size_t c = 0; c < served_.size(); ++c) more |= serve(c);
      more |= end_collectives();
    }
    for (std::size_t d = 0; d < lanes_.size(); ++d) set_rate(d);
    for (ReferenceLane& lane : lanes_) any |= lane.running && 2 * lane.left < lane.rate;
    return any;
  }

  bool end(ReferenceLane& lane) {
    if (!lane.running || (lane.left != 0 && 2 * lane.left >= lane.rate)) return false;
    lane.running = false;
    const InstrIndex behind = unit_end(program_, lane.next);
    for (; lane.next != behind; ++lane.next) times_.end[lane.next] = now_;
    return true;
  }

  bool begin(ReferenceLane& lane) {
    if (lane.running || lane.next == lane.end) return false;
    const InstrIndex behind = unit_end(program_, lane.next);
    for (std::uint32_t w = program_.instrs[lane.next].first_wait; w != program_.instrs[behind].first_wait; ++w) {
      if (!is_over(program_.waits[w])) return false;
    }
    for (std::uint32_t t = 0; t < program_.transfers.size(); ++t) {  // sends that are waited for here
      const Transfer& transfer = program_.transfers[t];
      const bool own = index(program_.channels[transfer.channel].from) == device_of(lane.next);
      const bool here = own && transfer.sent >= lane.next && transfer.sent < behind;
      if (here && times_.transfers[t].done == kUnknown) return false;
    }
    for (InstrIndex i = lane.next; i != behind; ++i) times_.start[i] = now_;
    lane.running = true;
    lane.left = program_.durations[program_.instrs[lane.next].row] * kWhole;
    lane.rate = 0;
    return true;
  }

  bool is_over(const Wait& wait) const {
    const auto known = [&](Ticks moment) { return moment != kUnknown && moment <= now_; };
    if (is_for_transfer(wait)) return known(times_.transfers[wait.via].available);
    if (is_for_collective(wait)) return known(times_.collective_end[collective_of(wait)]);
    const Ticks end = times_.end[wait.source];
    return end != kUnknown && end + (wait.via == Wait::kLatency ? *program_.comm : 0) <= now_;
  }

  bool serve(std::size_t channel) {
    const auto messages = order_.of(channel);
    std::size_t& at = served_[channel];
    if (at == messages.size()) return false;
    const std::uint32_t t = messages[at];
    TransferTimes& times = times_.transfers[t];
    const Route& route = program_.channels[channel].route;
    if (times.start == kUnknown) {
      if (times_.end[offered_by(program_.transfers[t], mode_)] == kUnknown) return false;
      times.start = now_;
      return true;
    }
    if (times.start + sending_time(program_.transfers[t].bytes, route, program_.base) > now_) return false;
    times.done = now_;
    times.available = now_ + latency_time(route, program_.base);
    ++at;
    return true;
  }

  bool end_collectives() {
    bool any = false;
    for (std::size_t c = 0; c < times_.collective_end.size(); ++c) {
      const auto& members = program_.collectives[c].members;
      if (times_.collective_end[c] != kUnknown) continue;
      if (std::ranges::any_of(members, [&](InstrIndex i) { return times_.end[i] == kUnknown; })) continue;
      times_.collective_end[c] = now_ + program_.collectives[c].duration;
      any = true;
    }
    return any;
  }

  // --- what is under way

  std::size_t device_of(InstrIndex i) const {
    return index(program_.holders[program_.rows[program_.instrs[i].row].holder].device);
  }
  bool same_node(std::size_t a, std::size_t b) const {
    const auto per_node = static_cast<std::size_t>(program_.devices_per_node);
    return a / per_node == b / per_node;
  }
  bool computes(std::size_t device) const {
    const ReferenceLane& lane = lanes_[device];
    return lane.running && program_.durations[program_.instrs[lane.next].row] > 0;
  }
  std::size_t kind(std::size_t device) const {
    const Row& row = program_.rows[program_.instrs[lanes_[device].next].row];
    if (row.overlapped) return static_cast<std::size_t>(Load::kPair);
    const auto name = std::ranges::find(kLoadNames, kOpNames[static_cast<std::size_t>(row.op)]);
    return name == kLoadNames.end() ? 0 : static_cast<std::size_t>(name - kLoadNames.begin());
  }
  bool is_sent(std::size_t t) const {
    return times_.transfers[t].start != kUnknown && times_.transfers[t].done == kUnknown;
  }
  bool goes_on(std::size_t c) const { return times_.collective_end[c] > now_ && program_.collectives[c].duration > 0; }

  /// Loads of one kind that `wanted(device)` holds an end of.
  template <class Wanted>
  std::int64_t count(std::size_t load, Wanted wanted) const {
    std::int64_t number = 0;
    for (std::size_t d = 0; d < lanes_.size(); ++d) number += wanted(d) && computes(d) && kind(d) == load ? 1 : 0;
    for (std::size_t t = 0; load == static_cast<std::size_t>(Load::kMessage) && t < program_.transfers.size(); ++t) {
      const Channel& channel = program_.channels[program_.transfers[t].channel];
      number += is_sent(t) && (wanted(index(channel.from)) || wanted(index(channel.to))) ? 1 : 0;
    }
    for (std::size_t c = 0; load == static_cast<std::size_t>(Load::kCollective) && c < program_.collectives.size();
         ++c) {
      const auto& members = program_.collectives[c].members;
      number += goes_on(c) && std::ranges::any_of(members, [&](InstrIndex i) { return wanted(device_of(i)); }) ? 1 : 0;
    }
    return number;
  }

  void set_rate(std::size_t device) {
    const Contention& contention = program_.contention;
    const auto in_node = [&](std::size_t d) { return same_node(d, device); };
    const auto itself = [&](std::size_t d) { return d == device; };
    if (contention.clock) {
      double load = 0;
      for (std::size_t l = 0; l < kLoadCount; ++l) {
        const std::int64_t number = contention.clock->per_device ? count(l, itself) : count(l, in_node);
        load += static_cast<double>(number) * contention.clock->load[l];
      }
      target_[device] = allowed(load);
      if (contention.clock->period_ns == 0) clock_[device] = target_[device];
    }
    if (!computes(device)) return;
    std::int64_t slow = kWhole;
    for (const Slowdown& slowdown : contention.slowdowns) {
      if (!has(slowdown.of, kind(device))) continue;
      std::int64_t others = has(slowdown.by, kind(device)) ? -1 : 0;
      for (std::size_t l = 0; l < kLoadCount; ++l) others += has(slowdown.by, l) ? count(l, in_node) : 0;
      if (others > 0) slow += billionths(slowdown.gamma[std::min<std::size_t>(others, slowdown.gamma.size()) - 1]);
    }
    const double occupied = static_cast<double>(count(static_cast<std::size_t>(Load::kMessage), itself)) * 1e-9 *
                                static_cast<double>(billionths(contention.message_share)) +
                            static_cast<double>(count(static_cast<std::size_t>(Load::kCollective), itself)) * 1e-9 *
                                static_cast<double>(billionths(contention.collective_share));
    std::int64_t rate = kWhole * kWhole / slow;
    rate = rate * clock_[device] / kWhole;
    rate = rate * (kWhole - billionths(std::min(0.99, occupied))) / kWhole;
    lanes_[device].rate = std::max<std::int64_t>(1, rate);
  }

  std::int64_t allowed(double load) const {
    if (!program_.contention.clock) return kWhole;
    const auto& points = program_.contention.clock->points;
    if (load <= points.front().load) return billionths(points.front().clock);
    for (std::size_t k = 1; k < points.size(); ++k) {
      if (load >= points[k].load) continue;
      const std::int64_t low = billionths(points[k - 1].clock);
      const std::int64_t rise = billionths(points[k].clock) - low;
      const std::int64_t far = std::llround((load - points[k - 1].load) * 1e6);
      return low + rise * far / std::llround((points[k].load - points[k - 1].load) * 1e6);
    }
    return billionths(points.back().clock);
  }

  void move_clocks() {
    if (!program_.contention.clock || program_.contention.clock->period_ns == 0) return;
    if (now_ % program_.contention.clock->period_ns != 0) return;
    for (std::size_t d = 0; d < lanes_.size(); ++d) {
      const std::int64_t far = target_[d] - clock_[d];
      const std::int64_t step = far * billionths(program_.contention.clock->gain) / kWhole;
      clock_[d] += step != 0 ? step : far > 0 ? 1 : far < 0 ? -1 : 0;
    }
  }

  const Program& program_;
  TransferMode mode_;
  IndexLists order_;
  RunTimes times_;
  std::vector<ReferenceLane> lanes_;
  std::vector<std::size_t> served_;  ///< by channel
  std::vector<std::int64_t> clock_;  ///< by device, also where a node has one
  std::vector<std::int64_t> target_;
  Ticks now_ = 0;
};

}  // namespace

std::optional<RunTimes> run_tick_by_tick(const Program& program, TransferMode mode, Ticks patience) {
  return TickByTick(program, mode).run(patience);
}

}  // namespace plumb::testing
