#include "sim/events/compute_share.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/rules/load_kinds.hpp"

namespace plumb {
namespace {

constexpr double kMillion = 1e6;
constexpr std::int64_t kMostOccupied = 990'000'000;

std::int64_t in_units(double value, double unit) { return std::llround(value * unit); }

Load kind_of(const Row& row) { return row.overlapped ? Load::kPair : load_of(row.op).value_or(Load::kF); }

std::size_t nodes_of(const Program& program) {
  const auto per_node = static_cast<std::size_t>(std::max(1, program.devices_per_node));
  return (static_cast<std::size_t>(program.num_devices) + per_node - 1) / per_node;
}

std::size_t clocks_of(const Program& program) {
  if (!program.contention.clock) return 0;
  return program.contention.clock->per_device ? static_cast<std::size_t>(program.num_devices) : nodes_of(program);
}

}  // namespace

std::size_t ComputeShare::slots(const Program& program) {
  return is_contended(program) ? clocks_of(program) + program.collectives.size() : 0;
}

ComputeShare::ComputeShare(const Program& program, EventQueue& queue, std::uint32_t first_slot)
    : program_(program),
      queue_(queue),
      first_slot_(first_slot),
      per_node_(static_cast<std::uint32_t>(std::max(1, program.devices_per_node))),
      lanes_(static_cast<std::size_t>(program.num_devices)),
      nodes_(nodes_of(program)),
      message_share_(in_units(program.contention.message_share, kWhole)),
      collective_share_(in_units(program.contention.collective_share, kWhole)),
      clocks_(clocks_of(program)) {
  touched_.reserve(nodes_.size());
  for (const Row& row : program.rows) kinds_.push_back(kind_of(row));
  for (const Slowdown& slowdown : program.contention.slowdowns) {
    Curve& curve = curves_.emplace_back();
    curve.of = slowdown.of;
    curve.by = slowdown.by;
    for (const double gamma : slowdown.gamma) curve.gamma.push_back(in_units(gamma, kWhole));
  }
  if (program.contention.clock) read_clock(*program.contention.clock);
}

void ComputeShare::read_clock(const ClockModel& model) {
  clock_per_device_ = model.per_device;
  for (std::size_t l = 0; l < kLoadCount; ++l) weights_[l] = in_units(model.load[l], kMillion);
  for (const ClockPoint& point : model.points) {
    points_.push_back({in_units(point.load, kMillion), in_units(point.clock, kWhole)});
  }
  if (model.period_ns > std::numeric_limits<Ticks>::max() / 2 / program_.base.ticks_per_ns) {
    throw Error("the clock's period is longer than the costs' ticks can count");
  }
  period_ = model.period_ns * program_.base.ticks_per_ns;
  gain_ = in_units(model.gain, kWhole);
  // Nothing is under way before the run.
  for (Clock& clock : clocks_) clock.now = clock.target = target(0);
}

void ComputeShare::touch(std::uint32_t node) {
  if (nodes_[node].touched) return;
  nodes_[node].touched = true;
  touched_.push_back(node);
}

void ComputeShare::start(std::uint32_t device, std::uint32_t row, Ticks duration, Ticks now) {
  Lane& lane = lanes_[device];
  lane.work = {static_cast<WorkProgress::Wide>(duration) * kWhole, now, 0};
  lane.kind = kinds_[row];
  lane.running = true;
  const std::uint32_t node = device / per_node_;
  ++nodes_[node].count[static_cast<std::size_t>(lane.kind)];
  touch(node);
}

void ComputeShare::finish(std::uint32_t device) {
  Lane& lane = lanes_[device];
  if (!lane.running) return;
  lane.running = false;
  const std::uint32_t node = device / per_node_;
  --nodes_[node].count[static_cast<std::size_t>(lane.kind)];
  touch(node);
}

void ComputeShare::message(std::uint32_t channel, std::int32_t change) {
  const auto from = static_cast<std::uint32_t>(program_.channels[channel].from);
  const auto to = static_cast<std::uint32_t>(program_.channels[channel].to);
  constexpr auto kMessage = static_cast<std::size_t>(Load::kMessage);
  lanes_[from].messages += change;
  nodes_[from / per_node_].count[kMessage] += change;
  touch(from / per_node_);
  if (from == to) return;
  lanes_[to].messages += change;
  if (from / per_node_ == to / per_node_) return;
  nodes_[to / per_node_].count[kMessage] += change;
  touch(to / per_node_);
}

void ComputeShare::collective(std::uint32_t which, std::int32_t change) {
  ++change_;
  for (const InstrIndex member : program_.collectives[which].members) {
    const Row& row = program_.rows[program_.instrs[member].row];
    const auto device = static_cast<std::uint32_t>(program_.holders[row.holder].device);
    Node& node = nodes_[device / per_node_];
    lanes_[device].collectives += change;
    if (node.seen == change_) continue;
    node.seen = change_;
    node.count[static_cast<std::size_t>(Load::kCollective)] += change;
    touch(device / per_node_);
  }
}

void ComputeShare::begin_collective(std::uint32_t which, Ticks now) {
  const Ticks duration = program_.collectives[which].duration;
  if (duration == 0) return;
  collective(which, 1);
  queue_.schedule(first_slot_ + static_cast<std::uint32_t>(clocks_.size()) + which, now + duration);
}

void ComputeShare::handle(std::uint32_t slot) {
  const std::uint32_t at = slot - first_slot_;
  if (at >= clocks_.size()) {
    collective(at - static_cast<std::uint32_t>(clocks_.size()), -1);
    return;
  }
  Clock& clock = clocks_[at];
  clock.moves = false;
  const std::int64_t far = clock.target - clock.now;
  std::int64_t step = far * gain_ / kWhole;
  if (step == 0 && far != 0) step = far > 0 ? 1 : -1;
  clock.now += step;
  touch(clock_per_device_ ? at / per_node_ : at);
}

void ComputeShare::update_rates(Ticks now) {
  for (const std::uint32_t at : touched_) {
    Node& node = nodes_[at];
    node.touched = false;
    if (!clocks_.empty()) update_clocks(at, now);
    std::array<std::int64_t, kComputeLoads> slow{};
    for (std::size_t kind = 0; kind < kComputeLoads; ++kind) {
      if (node.count[kind] > 0) slow[kind] = slowdown(node, kind);
    }
    const std::uint32_t end = std::min((at + 1) * per_node_, static_cast<std::uint32_t>(lanes_.size()));
    for (std::uint32_t device = at * per_node_; device < end; ++device) {
      Lane& lane = lanes_[device];
      if (!lane.running) continue;
      const std::int64_t next = rate(device, slow[static_cast<std::size_t>(lane.kind)]);
      if (next != lane.work.rate) queue_.schedule(device, lane.work.go_on(next, now, "an action among others"));
    }
  }
  touched_.clear();
}

void ComputeShare::update_clocks(std::uint32_t at, Ticks now) {
  if (!clock_per_device_) {
    std::int64_t load = 0;
    for (std::size_t l = 0; l < kLoadCount; ++l) load += nodes_[at].count[l] * weights_[l];
    update_clock(at, load, now);
    return;
  }
  const std::uint32_t end = std::min((at + 1) * per_node_, static_cast<std::uint32_t>(lanes_.size()));
  for (std::uint32_t device = at * per_node_; device < end; ++device)
    update_clock(device, load_of(lanes_[device]), now);
}

void ComputeShare::update_clock(std::uint32_t at, std::int64_t load, Ticks now) {
  Clock& clock = clocks_[at];
  clock.target = target(load);
  if (period_ == 0) clock.now = clock.target;
  if (clock.now == clock.target || clock.moves) return;
  clock.moves = true;
  queue_.schedule(first_slot_ + at, (now / period_ + 1) * period_);
}

std::int64_t ComputeShare::load_of(const Lane& lane) const {
  const std::int64_t own = lane.running ? weights_[static_cast<std::size_t>(lane.kind)] : 0;
  return own + lane.messages * weights_[static_cast<std::size_t>(Load::kMessage)] +
         lane.collectives * weights_[static_cast<std::size_t>(Load::kCollective)];
}

/// The clock that `load` allows.
std::int64_t ComputeShare::target(std::int64_t load) const {
  const auto above = std::ranges::upper_bound(points_, load, {}, &Point::load);
  if (above == points_.begin()) return points_.front().clock;
  const Point& low = *(above - 1);
  if (above == points_.end()) return low.clock;
  __extension__ using Wide = __int128;
  const Wide rise = static_cast<Wide>(above->clock - low.clock) * (load - low.load);
  return low.clock + static_cast<std::int64_t>(rise / (above->load - low.load));
}

/// 1 + what an action of `kind` feels, in billionths.
std::int64_t ComputeShare::slowdown(const Node& node, std::size_t kind) const {
  std::int64_t slow = kWhole;
  for (const Curve& curve : curves_) {
    if (!has(curve.of, kind)) continue;
    std::int64_t others = has(curve.by, kind) ? -1 : 0;
    for (std::size_t l = 0; l < kLoadCount; ++l) others += has(curve.by, l) ? node.count[l] : 0;
    if (others <= 0) continue;
    slow += curve.gamma[std::min(static_cast<std::size_t>(others), curve.gamma.size()) - 1];
  }
  return slow;
}

std::int64_t ComputeShare::rate(std::uint32_t device, std::int64_t slow) const {
  const Lane& lane = lanes_[device];
  std::int64_t rate = kWhole * kWhole / slow;
  if (!clocks_.empty()) rate = rate * clocks_[clock_per_device_ ? device : device / per_node_].now / kWhole;
  const std::int64_t occupied =
      std::min(kMostOccupied, lane.messages * message_share_ + lane.collectives * collective_share_);
  rate = rate * (kWhole - occupied) / kWhole;
  return std::max<std::int64_t>(1, rate);
}

}  // namespace plumb
