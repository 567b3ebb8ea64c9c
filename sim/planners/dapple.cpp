#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/methods.hpp"

namespace plumb {
namespace {

/// Where new devices come from: unused machines, machines in use, all machines in turn (the paper's Fresh First, Append
/// First, Scatter First).
enum class Placement { kFresh, kAppend, kScatter };

/// Devices in use, by machine.
using Occupancy = std::vector<std::int32_t>;

struct GroupStage {
  std::size_t begin = 0;
  std::size_t end = 0;
  Occupancy devices;  ///< by machine
};

struct Prefix {
  std::vector<GroupStage> stages;
  Occupancy used;
  double latency = 0;  ///< with the rest as one stage
};

class DappleSearch {
 public:
  explicit DappleSearch(const PlanProblem& problem)
      : problem_(problem),
        chain_(chain_of(problem.network.layers)),
        per_machine_(problem.levels.front().count),
        machines_(problem.num_devices() / per_machine_) {}

  Plan solve() {
    std::map<std::pair<std::size_t, Occupancy>, Prefix> open;
    Prefix start{{}, Occupancy(static_cast<std::size_t>(machines_), 0), 0};
    start.latency = latency(closed(start));
    best_ = start;
    open.emplace(std::pair{std::size_t{0}, start.used}, start);
    // In order of layers placed, so that a prefix is final when it is taken out.
    while (!open.empty()) {
      const auto first = open.begin();
      const std::size_t placed = first->first.first;
      const Prefix prefix = std::move(first->second);
      open.erase(first);
      ++states_;
      for (std::size_t cut = placed + 1; cut < chain_.size(); ++cut) extend(prefix, placed, cut, open);
    }
    return plan();
  }

 private:
  std::int32_t free_devices(const Occupancy& used) const {
    return problem_.num_devices() - std::accumulate(used.begin(), used.end(), 0);
  }

  Occupancy taken(const Occupancy& used, std::int32_t count, Placement placement) const {
    Occupancy own(used.size(), 0);
    const auto room = [&](std::size_t m) { return per_machine_ - used[m] - own[m]; };
    if (placement == Placement::kScatter) {
      for (std::size_t m = 0; count > 0; m = (m + 1) % used.size()) {
        if (room(m) == 0) continue;
        ++own[m];
        --count;
      }
      return own;
    }
    for (const bool fresh_turn : {placement == Placement::kFresh, placement != Placement::kFresh}) {
      for (std::size_t m = 0; m < used.size(); ++m) {
        if ((used[m] == 0) != fresh_turn) continue;
        const std::int32_t take = std::min(count, room(m));
        own[m] += take;
        count -= take;
      }
    }
    return own;
  }

  void extend(const Prefix& prefix, std::size_t placed, std::size_t cut,
              std::map<std::pair<std::size_t, Occupancy>, Prefix>& open) {
    for (std::int32_t count = 1; count < free_devices(prefix.used); ++count) {
      problem_.stop.check();
      std::set<Occupancy> tried;
      for (const Placement placement : {Placement::kFresh, Placement::kAppend, Placement::kScatter}) {
        Occupancy own = taken(prefix.used, count, placement);
        if (!tried.insert(own).second) continue;
        Prefix longer = prefix;
        for (std::size_t m = 0; m < own.size(); ++m) longer.used[m] += own[m];
        longer.stages.push_back({placed, cut, std::move(own)});
        longer.latency = latency(closed(longer));
        if (longer.latency < best_.latency) best_ = longer;
        Occupancy alike = longer.used;  // machines are of one kind
        std::sort(alike.begin(), alike.end());
        const auto [entry, is_new] = open.emplace(std::pair{cut, std::move(alike)}, longer);
        if (!is_new && longer.latency < entry->second.latency) entry->second = std::move(longer);
      }
    }
  }

  /// The prefix and the rest on all devices that are left.
  std::vector<GroupStage> closed(const Prefix& prefix) const {
    std::vector<GroupStage> stages = prefix.stages;
    Occupancy rest = prefix.used;
    for (std::int32_t& used : rest) used = per_machine_ - used;
    stages.push_back({stages.empty() ? 0 : stages.back().end, chain_.size(), std::move(rest)});
    return stages;
  }

  /// Of the link that joins all these devices.
  double rate(const Occupancy& a, const Occupancy& b) const {
    std::int32_t machines = 0;
    for (std::size_t m = 0; m < a.size(); ++m) machines += a[m] + b[m] > 0 ? 1 : 0;
    return machines > 1 ? problem_.levels.back().bytes_per_s : problem_.levels.front().bytes_per_s;
  }

  PipelineStages pipeline(const std::vector<GroupStage>& stages) const {
    PipelineStages result;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const GroupStage& stage = stages[s];
      if (s > 0) {
        const double transfer =
            1e9 * static_cast<double>(chain_.cut_bytes[stage.begin]) / rate(stages[s - 1].devices, stage.devices);
        result.stages.push_back({transfer, transfer, 0});
      }
      const std::int32_t copies = std::accumulate(stage.devices.begin(), stage.devices.end(), 0);
      const auto weights = static_cast<double>(chain_.parameters(stage.begin, stage.end));
      result.stages.push_back({static_cast<double>(chain_.forward(stage.begin, stage.end)) / copies,
                               static_cast<double>(chain_.backward(stage.begin, stage.end)) / copies,
                               ring_ns(weights, copies, rate(stage.devices, stage.devices))});
    }
    return result;
  }

  double latency(const std::vector<GroupStage>& stages) const {
    return pivot_latency(pipeline(stages), problem_.microbatches).latency_ns;
  }

  Plan plan() const {
    const std::vector<GroupStage> stages = closed(best_);
    const PipelineStages timed = pipeline(stages);
    Plan plan;
    plan.claimed_ns = best_.latency;
    plan.microbatches = problem_.microbatches;
    plan.states = states_;
    Occupancy next(static_cast<std::size_t>(machines_), 0);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const Occupancy& own = stages[s].devices;
      PlanStage stage = chain_stage(chain_, stages[s].begin, stages[s].end, std::accumulate(own.begin(), own.end(), 0));
      stage.load_ns = timed.stages[2 * s].forward_ns + timed.stages[2 * s].backward_ns;
      for (std::size_t m = 0; m < own.size(); ++m) {
        for (std::int32_t k = 0; k < own[m]; ++k) {
          stage.devices.push_back(static_cast<std::int32_t>(m) * per_machine_ + next[m]++);
        }
      }
      plan.stages.push_back(std::move(stage));
    }
    plan.remarks.push_back("its event recursion gives " +
                           std::to_string(one_f_one_b_step_ns(timed, problem_.microbatches) / 1e6) + " ms");
    return plan;
  }

  const PlanProblem& problem_;
  LayerChain chain_;
  std::int32_t per_machine_;
  std::int32_t machines_;
  Prefix best_;
  std::int64_t states_ = 0;
};

}  // namespace

/// DAPPLE's planner (PPoPP 2021): the first layers on some devices, the rest as one stage on all others, and that rest
/// cut again, under three ways to place a stage on machines; kept per layers placed and devices in use is the prefix of
/// least latency L = T_w + T_s + T_e (`pivot_latency`).
Plan plan_dapple(const PlanProblem& problem) { return DappleSearch(problem).solve(); }

}  // namespace plumb
