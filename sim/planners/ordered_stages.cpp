#include "sim/planners/ordered_stages.hpp"

#include <algorithm>

#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"

namespace plumb {
namespace {

/// Least largest cost of the first layers on the first devices. One table: whatever the number of stages.
class OrderedSearch {
 public:
  OrderedSearch(std::size_t layers, std::int32_t devices, const OrderedCosts& costs)
      : layers_(layers), devices_(devices), costs_(costs) {
    now_.assign((layers + 1) * (at(devices) + 1), kNever);
    now_[0] = 0;
  }

  /// One more stage after those that there are; with `keep`, or none.
  void add_stage(bool keep) {
    std::vector<double> next = keep ? now_ : std::vector<double>(now_.size(), kNever);
    std::vector<DeviceRun> from(now_.size());
    if (keep && !from_.empty()) from = from_.back();
    for (std::size_t begin = 0; begin < layers_; ++begin) {
      for (std::int32_t first = 0; first < devices_; ++first) {
        costs_.stop.check();
        const std::vector<double>& before = keep ? next : now_;
        if (before[place(begin, first)] != kNever) extend(begin, first, before[place(begin, first)], next, from);
      }
    }
    now_ = std::move(next);
    from_.push_back(std::move(from));
  }

  /// On as few devices as that takes. `back(level)`: the table of the stage before.
  OrderedCut cut(bool one_table) const {
    std::int32_t used = 1;
    for (std::int32_t m = 1; m <= devices_; ++m) {
      if (now_[place(layers_, m)] < now_[place(layers_, used)]) used = m;
    }
    OrderedCut made{now_[place(layers_, used)], {}};
    if (made.largest == kNever) return made;
    std::size_t level = from_.size();
    for (std::size_t end = layers_; end > 0;) {
      const DeviceRun& run = from_[one_table ? 0 : --level][place(end, used)];
      made.stages.push_back(run);
      end = run.begin;
      used = run.first;
    }
    std::reverse(made.stages.begin(), made.stages.end());
    return made;
  }

 private:
  std::size_t place(std::size_t layer, std::int32_t device) const { return layer * (at(devices_) + 1) + at(device); }

  void extend(std::size_t begin, std::int32_t first, double before, std::vector<double>& next,
              std::vector<DeviceRun>& from) const {
    const double so_far = begin == 0 ? before : std::max(before, costs_.link(begin, first));
    for (std::int32_t count = 1; count <= std::min(costs_.most_devices, devices_ - first); ++count) {
      for (std::size_t end = begin + 1; end <= layers_; ++end) {
        const DeviceRun run{begin, end, first, count};
        const double own = costs_.stage(run);
        if (own == kNever) break;  // more layers only need more
        const double largest = std::max(so_far, own);
        const std::size_t to = place(end, first + count);
        if (largest >= next[to]) continue;
        next[to] = largest;
        from[to] = run;
      }
    }
  }

  std::size_t layers_;
  std::int32_t devices_;
  const OrderedCosts& costs_;
  std::vector<double> now_;
  std::vector<std::vector<DeviceRun>> from_;
};

}  // namespace

std::vector<OrderedCut> cuts_by_stages(std::size_t layers, std::int32_t devices, std::size_t most_stages,
                                       const OrderedCosts& costs) {
  OrderedSearch search(layers, devices, costs);
  std::vector<OrderedCut> cuts;
  for (std::size_t stages = 1; stages <= std::min({most_stages, layers, at(devices)}); ++stages) {
    search.add_stage(false);
    cuts.push_back(search.cut(false));
  }
  return cuts;
}

OrderedCut best_cut(std::size_t layers, std::int32_t devices, const OrderedCosts& costs) {
  OrderedSearch search(layers, devices, costs);
  search.add_stage(true);
  return search.cut(true);
}

double bytes_per_s_before(const PlanProblem& problem, std::int32_t device) {
  std::int32_t inside = 1;
  for (const MachineLevel& level : problem.levels) {
    inside *= level.count;
    if ((device - 1) / inside == device / inside) return level.bytes_per_s;
  }
  return problem.levels.back().bytes_per_s;
}

double bytes_per_s_inside(const PlanProblem& problem, const DeviceRun& run) {
  // Links before devices that `inside` divides leave a part of so many devices.
  const auto leaving = [&](std::int32_t inside) { return (run.first + run.count - 1) / inside - run.first / inside; };
  double slowest = kNever;
  std::int32_t inside = 1;
  for (const MachineLevel& level : problem.levels) {
    const std::int32_t before = leaving(inside);
    inside *= level.count;
    const bool outermost = &level == &problem.levels.back();
    if (before > (outermost ? 0 : leaving(inside))) slowest = std::min(slowest, level.bytes_per_s);
  }
  return slowest;
}

double speed_of(const PlanProblem& problem, const DeviceRun& run) {
  if (problem.speed.empty()) return 1;
  double slowest = kNever;
  for (std::int32_t d = run.first; d < run.first + run.count; ++d) slowest = std::min(slowest, problem.speed_of(d));
  return slowest;
}

bool fits_run(const PlanProblem& problem, const LayerChain& chain, const DeviceRun& run, std::int64_t in_flight) {
  if (problem.memory_bytes == 0) return true;
  const double kept = static_cast<double>(chain.activations(run.begin, run.end)) / run.count;
  const double bytes =
      2 * static_cast<double>(chain.parameters(run.begin, run.end)) + static_cast<double>(in_flight) * kept;
  return bytes <= static_cast<double>(problem.memory_bytes);
}

std::vector<PlanStage> plan_stages(const LayerChain& chain, const OrderedCut& cut, const OrderedCosts& costs) {
  std::vector<PlanStage> stages;
  for (const DeviceRun& run : cut.stages) {
    PlanStage stage = chain_stage(chain, run.begin, run.end, run.count);
    stage.load_ns = costs.stage(run);
    for (std::int32_t d = run.first; d < run.first + run.count; ++d) stage.devices.push_back(d);
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace plumb
