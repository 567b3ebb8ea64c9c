#include "sim/plan_search/copy_shares.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "models/ground/error.hpp"
#include "sim/plan_search/placed_schedule.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

/// Adds all ways to share `left` microbatches among so many further copies, each at least one.
void add_shares(std::int64_t left, std::int32_t copies, std::vector<std::int64_t>& so_far,
                std::vector<std::vector<std::int64_t>>& all) {
  if (copies == 1) {
    so_far.push_back(left);
    all.push_back(so_far);
    so_far.pop_back();
    return;
  }
  for (std::int64_t share = 1; share + copies - 1 <= left; ++share) {
    so_far.push_back(share);
    add_shares(left - share, copies - 1, so_far, all);
    so_far.pop_back();
  }
}

/// The copies of a plan, each simulated alone with some microbatches, every number once; of copies on alike places one.
class LoneCopies {
 public:
  LoneCopies(const PipelinePlan& plan, const PricedStages& stages, bool named)
      : plan_(plan), stages_(stages), named_(named), steps_(plan.shares.size()) {
    std::map<std::vector<Make>, std::size_t> first;
    for (std::size_t k = 0; k < plan.shares.size(); ++k) alike_.push_back(first.try_emplace(makes(k), k).first->second);
  }

  /// Returns the step of copy `k`; `kForEver` where it does not fit or the schedule does not have that size.
  std::int64_t step_ns(std::size_t k, std::int64_t microbatches) {
    const auto [known, is_new] = steps_[alike_[k]].try_emplace(microbatches, kForEver);
    if (is_new) known->second = simulated(alike_[k], microbatches);
    return known->second;
  }

  /// Returns whether the schedule has this size at all.
  bool is_size(std::int64_t microbatches) const {
    try {
      plan_schedule(alone(0, microbatches), stages_, named_);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

 private:
  /// What a place is: its speed, its usable bytes, and which of the copy's nodes it is in, in the pipeline's order.
  using Make = std::tuple<double, std::int64_t, std::size_t>;

  /// Describes the places of copy `k`; copies with equal descriptions take equal times.
  std::vector<Make> makes(std::size_t k) const {
    std::vector<Make> all;
    std::vector<std::int32_t> nodes;
    for (const std::int32_t place : alone(k, 1).order) {
      const std::int32_t node = stages_.pipeline.node_of(place);
      if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
      const auto at = static_cast<std::size_t>(place);
      all.emplace_back(stages_.pipeline.devices[at].speed, stages_.usable_bytes[at],
                       static_cast<std::size_t>(std::ranges::find(nodes, node) - nodes.begin()));
    }
    return all;
  }

  /// Returns copy `k` as a plan of its own with so many microbatches.
  PipelinePlan alone(std::size_t k, std::int64_t microbatches) const {
    PipelinePlan copy = plan_;
    copy.places = plan_.length();
    copy.microbatches = microbatches;
    copy.shares.clear();
    const auto first = plan_.order.begin() + static_cast<std::ptrdiff_t>(k) * copy.places;
    copy.order.assign(first, first + copy.places);
    return copy;
  }

  std::int64_t simulated(std::size_t k, std::int64_t microbatches) const {
    const PipelinePlan copy = alone(k, microbatches);
    try {
      const Schedule schedule = placed(plan_schedule(copy, stages_, named_), copy.order);
      if (std::ranges::max(excess_by_place(stages_, schedule)) > 0) return kForEver;
      const ScoredPlan score = run_placed_plan(copy, stages_, schedule).score;
      return score.fits() ? score.step_ns : kForEver;
    } catch (const Error&) {
      return kForEver;
    }
  }

  const PipelinePlan& plan_;
  const PricedStages& stages_;
  bool named_;
  std::vector<std::size_t> alike_;  ///< first copy on such places, by copy
  std::vector<std::map<std::int64_t, std::int64_t>> steps_;
};

/// Stages one after another on the places of every copy, as most schedules have them.
CopiesPlacement in_turn(const PipelinePlan& plan) {
  CopiesPlacement placement(plan.shares.size());
  const auto length = static_cast<std::size_t>(plan.length());
  for (std::size_t k = 0; k < placement.size(); ++k) {
    for (std::size_t s = 0; s < plan.partition.num_stages(); ++s) {
      placement[k].push_back({DeviceId{plan.order[k * length + s % length]}});
    }
  }
  return placement;
}

/// Numbers of microbatches that a schedule can have: multiples of `unit`, from `least` on.
struct ShareSteps {
  std::int64_t unit = 1;
  std::int64_t least = 1;
};

/// The first unit of a few that the schedule has two and three of; nothing where it has none of them.
std::optional<ShareSteps> share_steps(const LoneCopies& copies, const PipelinePlan& plan) {
  constexpr std::int64_t kMostUnits = 4;
  const std::int64_t length = plan.length();
  for (const std::int64_t unit : {std::int64_t{1}, std::int64_t{2}, length, 2 * length}) {
    if (plan.microbatches % unit != 0) continue;
    for (std::int64_t units = 1; units <= kMostUnits; ++units) {
      if (units * unit * std::ssize(plan.shares) > plan.microbatches) break;
      if (copies.is_size(units * unit) && copies.is_size((units + 1) * unit)) return ShareSteps{unit, units * unit};
    }
  }
  return std::nullopt;
}

}  // namespace

std::int64_t count_shares(std::int64_t microbatches, std::int32_t copies, std::int64_t most) {
  if (copies > microbatches) return 0;
  std::int64_t count = 1;  // microbatches - 1 over copies - 1
  for (std::int64_t k = 1; k < copies; ++k) {
    if (count > kForEver / microbatches) return most + 1;
    count = count * (microbatches - k) / k;
  }
  return std::min(count, most + 1);
}

std::vector<std::vector<std::int64_t>> all_shares(std::int64_t microbatches, std::int32_t copies) {
  std::vector<std::vector<std::int64_t>> all;
  std::vector<std::int64_t> so_far;
  if (copies <= microbatches) add_shares(microbatches, copies, so_far, all);
  return all;
}

std::vector<std::int64_t> open_shares(std::int32_t copies) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(copies), 0);
}

void sort_copies(std::vector<std::int32_t>& order, std::int32_t copies) {
  const std::ptrdiff_t places = std::ssize(order) / copies;
  std::vector<std::vector<std::int32_t>> apart;
  for (auto first = order.begin(); first != order.end(); first += places) apart.emplace_back(first, first + places);
  std::ranges::sort(apart);
  order.clear();
  for (const auto& copy : apart) order.insert(order.end(), copy.begin(), copy.end());
}

CopiesPlacement placement_of_copies(const ScheduleVariant& variant, const std::vector<std::int32_t>& order,
                                    std::int32_t copies) {
  CopiesPlacement placement;
  const std::ptrdiff_t places = std::ssize(order) / copies;
  for (auto first = order.begin(); first != order.end(); first += places) {
    auto of_copy = placement_of(variant, {first, first + places});
    if (of_copy.size() != 1) return {};
    placement.push_back(std::move(of_copy.front()));
  }
  return placement;
}

std::vector<std::int64_t> chosen_shares(const PipelinePlan& plan, const PricedStages& stages, bool named) {
  LoneCopies copies(plan, stages, named);
  const std::optional<ShareSteps> steps = share_steps(copies, plan);
  if (!steps) {
    throw Error("schedule '" + plan.schedule + "': cannot share " + std::to_string(plan.microbatches) +
                " microbatches among " + std::to_string(plan.shares.size()) + " copies");
  }
  // From the shares with the least bound, units move away from the slowest copy as long as another one is faster with
  // one more than the slowest is now. With no such copy, any other shares give some copy more and so no shorter step.
  std::vector<std::int64_t> shares =
      least_bounded_shares(stages, in_turn(plan), plan.microbatches, steps->unit, steps->least);
  for (std::int64_t moved = 0; moved < plan.microbatches; ++moved) {
    std::size_t slowest = 0;
    std::size_t other = shares.size();
    std::int64_t other_ns = kForEver;
    for (std::size_t k = 0; k < shares.size(); ++k) {
      if (copies.step_ns(k, shares[k]) > copies.step_ns(slowest, shares[slowest])) slowest = k;
    }
    if (shares[slowest] == steps->least) return shares;
    const std::int64_t slowest_ns = copies.step_ns(slowest, shares[slowest]);
    for (std::size_t k = 0; k < shares.size(); ++k) {
      if (k == slowest) continue;
      const std::int64_t with_more = copies.step_ns(k, shares[k] + steps->unit);
      if (with_more >= std::min(other_ns, slowest_ns)) continue;
      other_ns = with_more;
      other = k;
    }
    if (other == shares.size()) return shares;
    shares[slowest] -= steps->unit;
    shares[other] += steps->unit;
  }
  return shares;
}

}  // namespace plumb
