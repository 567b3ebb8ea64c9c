#include "schedules/lowering/part_costs.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "models/costs/time_limits.hpp"

namespace plumb::lowering {
namespace {

/// Products of two figures.
__extension__ using WideFigure = __int128;

/// Largest factor that a unit is divided by, and largest figure that then remains.
constexpr std::int64_t kMostFactor = std::int64_t{1} << 30;
constexpr std::int64_t kMostFigure = std::int64_t{1} << 48;

/// In proportion to the part's length.
PartCosts shares(const Part& part, const StageTimes& times, const StageMemory& memory) {
  PartCosts costs{times, share_of(part, memory)};
  for (Ticks* time : times_per_microbatch(costs.times)) *time = share_of(part, *time);
  return costs;
}

/// The smallest factor that makes all shares of `figures` whole; 1 when it would be too large.
std::int64_t whole_factor(const std::vector<std::int64_t>& figures, const PartTable& parts, std::int64_t longest = 0) {
  std::int64_t factor = 1;
  for (const Part& part : parts.all()) {
    if (part.whole > kMostFigure / part.largest) return 1;
    const std::int64_t denominator = part.whole * part.largest;
    for (const std::int64_t figure : figures) {
      const auto rest = static_cast<std::int64_t>(static_cast<WideFigure>(figure) * factor % denominator);
      const std::int64_t needed = denominator / std::gcd(denominator, rest);
      if (needed > kMostFactor / factor) return 1;
      factor *= needed;
    }
  }
  const std::int64_t largest = figures.empty() ? 0 : *std::max_element(figures.begin(), figures.end());
  return largest > kMostFigure / factor || longest > kMostCost / factor ? 1 : factor;
}

void multiply_times(StageCosts& costs, std::int64_t factor) {
  if (factor == 1) return;
  costs.base.ticks_per_ns *= factor;
  if (costs.comm) *costs.comm *= factor;
  for (StageTimes& times : costs.times) {
    for (Ticks* time : times_per_microbatch(times)) *time *= factor;
    for (Ticks* time : {&times.u, &times.x, &times.evict, &times.load, &times.all_reduce}) *time *= factor;
  }
}

void scale_time(StageCosts& costs, const PartTable& parts) {
  std::vector<std::int64_t> figures;
  for (StageTimes& times : costs.times) {
    for (const Ticks* time : times_per_microbatch(times)) figures.push_back(*time);
  }
  Ticks longest = costs.comm.value_or(0);
  for (const StageTimes& times : costs.times) {
    longest = std::max({longest, times.u, times.x, times.evict, times.load, times.all_reduce});
  }
  const std::int64_t factor = whole_factor(figures, parts, longest);
  if (costs.base.ticks_per_ns <= kMostCost / factor) multiply_times(costs, factor);
}

void scale_memory(StageCosts& costs, const PartTable& parts) {
  if (costs.memory_units_per_one == 0) return;
  std::vector<std::int64_t> figures;
  for (const StageMemory& memory : costs.memory) {
    for (const StashTensor& tensor : memory.stash) figures.push_back(tensor.bytes);
  }
  const std::int64_t factor = whole_factor(figures, parts);
  costs.memory_units_per_one *= factor;
  for (StageMemory& memory : costs.memory) {
    for (StashTensor& tensor : memory.stash) tensor.bytes *= factor;
  }
}

}  // namespace

PartCostTable::PartCostTable(const StageCosts& costs, const PartTable& parts) : parts_(parts.all().size()) {
  if (parts.plain()) return;
  for (std::size_t stage = 0; stage < costs.times.size(); ++stage) {
    const StageId id{static_cast<std::int32_t>(stage)};
    for (const Part& part : parts.all()) {
      costs_.push_back(
          costs.part ? costs.part(id, part, costs.times[stage])
                     : shares(part, costs.times[stage], costs.memory.empty() ? StageMemory{} : costs.memory[stage]));
    }
  }
}

std::vector<StageMemory> PartCostTable::memory() const {
  std::vector<StageMemory> all;
  for (const PartCosts& costs : costs_) all.push_back(costs.memory);
  return all;
}

void add_memory(StageMemory& to, const StageMemory& more) {
  if (to.stash.empty() && to == StageMemory{}) {
    to = more;
    return;
  }
  StageMemory added = more;
  const std::vector<std::int64_t*> sums = bytes_per_microbatch(to);
  const std::vector<std::int64_t*> terms = bytes_per_microbatch(added);
  for (std::size_t i = 0; i < sums.size(); ++i) *sums[i] += *terms[i];
  assert(to.stash.size() == more.stash.size() && "parts of one stage keep the same tensors");
  for (std::size_t i = 0; i < to.stash.size(); ++i) to.stash[i].bytes += more.stash[i].bytes;
}

StageCosts with_whole_shares(const StageCosts& costs, const PartTable& parts) {
  StageCosts scaled = costs;
  if (parts.plain() || costs.part) return scaled;
  scale_time(scaled, parts);
  scale_memory(scaled, parts);
  return scaled;
}

StageCosts with_whole_extras(StageCosts costs, const std::map<std::string, ExtraWork>& extras) {
  if (costs.from_network || extras.empty()) return costs;
  std::int64_t factor = 1;
  std::int64_t largest = costs.comm.value_or(0);
  for (StageTimes& times : costs.times) {
    for (const auto& [name, work] : extras) {
      if (work.kind == ExtraWork::Kind::kTime || times.x == 0) continue;
      const Rational units = units_as_fraction(work.units);
      const auto amount = static_cast<WideFigure>(times.x) * units.numerator % units.denominator * factor;
      const std::int64_t rest = std::gcd(units.denominator, static_cast<std::int64_t>(amount % units.denominator));
      const std::int64_t needed = units.denominator / rest;
      if (needed > kMostFactor / factor) return costs;
      factor *= needed;
    }
    for (const Ticks* time : times_per_microbatch(times)) largest = std::max(largest, *time);
    for (const Ticks time : {times.u, times.x, times.evict, times.load, times.all_reduce})
      largest = std::max(largest, time);
  }
  if (largest <= kMostFigure / factor && costs.base.ticks_per_ns <= kMostCost / factor) multiply_times(costs, factor);
  return costs;
}

}  // namespace plumb::lowering
