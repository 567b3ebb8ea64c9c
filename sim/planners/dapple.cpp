#include <algorithm>
#include <map>
#include <numeric>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/planner.hpp"

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
  std::vector<GroupStage> stages{};
  Occupancy used{};
  PipelineStages timed{};  ///< `stages`, and the transfers between them
  double latency = 0;      ///< with the rest as one stage
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
    Prefix start{.used = Occupancy(static_cast<std::size_t>(machines_), 0)};
    start.latency = latency_with(start, {0, 0, start.used});
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
      std::vector<Occupancy> tried;
      for (const Placement placement : {Placement::kFresh, Placement::kAppend, Placement::kScatter}) {
        Occupancy own = taken(prefix.used, count, placement);
        if (std::ranges::find(tried, own) != tried.end()) continue;
        tried.push_back(own);
        add({prefix, {placed, cut, std::move(own)}}, open);
      }
    }
  }

  /// A prefix, and one more stage behind it.
  struct Longer {
    const Prefix& prefix;
    GroupStage stage;
  };

  /// Keeps the longer prefix where it is the best so far, of all or of those that are alike. Few are.
  void add(Longer longer, std::map<std::pair<std::size_t, Occupancy>, Prefix>& open) {
    const double latency = latency_with(longer.prefix, longer.stage);
    Occupancy alike = longer.prefix.used;
    for (std::size_t m = 0; m < alike.size(); ++m) alike[m] += longer.stage.devices[m];
    std::sort(alike.begin(), alike.end());  // machines are of one kind
    const auto entry = open.lower_bound({longer.stage.end, alike});
    const bool is_new = entry == open.end() || entry->first != std::pair(longer.stage.end, alike);
    const bool is_better = is_new || latency < entry->second.latency;
    if (!is_better && latency >= best_.latency) return;
    Prefix made = longer.prefix;
    for (std::size_t m = 0; m < alike.size(); ++m) made.used[m] += longer.stage.devices[m];
    append(longer.stage, made.stages.empty() ? nullptr : &made.stages.back(), made.timed);
    made.stages.push_back(std::move(longer.stage));
    made.latency = latency;
    if (latency < best_.latency) best_ = made;
    if (is_new) {
      open.emplace_hint(entry, std::pair(made.stages.back().end, std::move(alike)), std::move(made));
    } else if (is_better) {
      entry->second = std::move(made);
    }
  }

  /// All layers behind `end` on the devices that are left.
  GroupStage rest(std::size_t end, const Occupancy& used, const Occupancy& more) const {
    GroupStage stage{end, chain_.size(), used};
    for (std::size_t m = 0; m < used.size(); ++m) stage.devices[m] = per_machine_ - used[m] - more[m];
    return stage;
  }

  /// Of the prefix, `stage` (none where it has no layers), and the rest.
  double latency_with(const Prefix& prefix, const GroupStage& stage) {
    const std::vector<PipelineStages::Stage>& known = prefix.timed.stages;
    timed_.stages.assign(known.begin(), known.end());
    const GroupStage* before = prefix.stages.empty() ? nullptr : &prefix.stages.back();
    if (stage.begin != stage.end) {
      append(stage, before, timed_);
      before = &stage;
    }
    append(rest(stage.end, prefix.used, stage.devices), before, timed_);
    return pivot_latency(timed_, problem_.microbatches).latency_ns;
  }

  /// The prefix and the rest on all devices that are left.
  std::vector<GroupStage> closed(const Prefix& prefix) const {
    std::vector<GroupStage> stages = prefix.stages;
    const Occupancy none(prefix.used.size(), 0);
    stages.push_back(rest(stages.empty() ? 0 : stages.back().end, prefix.used, none));
    return stages;
  }

  /// Of the link that joins all these devices.
  double rate(const Occupancy& a, const Occupancy& b) const {
    std::int32_t machines = 0;
    for (std::size_t m = 0; m < a.size(); ++m) machines += a[m] + b[m] > 0 ? 1 : 0;
    return machines > 1 ? problem_.levels.back().bytes_per_s : problem_.levels.front().bytes_per_s;
  }

  /// Times of a stage and of the transfer to it from the stage `before` (null: there is none).
  void append(const GroupStage& stage, const GroupStage* before, PipelineStages& timed) const {
    if (before != nullptr) {
      const double transfer =
          1e9 * static_cast<double>(chain_.cut_bytes[stage.begin]) / rate(before->devices, stage.devices);
      timed.stages.push_back({transfer, transfer, 0});
    }
    const std::int32_t copies = std::accumulate(stage.devices.begin(), stage.devices.end(), 0);
    const auto weights = static_cast<double>(chain_.parameters(stage.begin, stage.end));
    timed.stages.push_back({static_cast<double>(chain_.forward(stage.begin, stage.end)) / copies,
                            static_cast<double>(chain_.backward(stage.begin, stage.end)) / copies,
                            ring_ns(weights, copies, rate(stage.devices, stage.devices))});
  }

  Plan plan() const {
    const std::vector<GroupStage> stages = closed(best_);
    PipelineStages timed = best_.timed;
    append(stages.back(), stages.size() == 1 ? nullptr : &stages[stages.size() - 2], timed);
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
  PipelineStages timed_;  ///< of the pipeline that is looked at
  std::int64_t states_ = 0;
};

/// DAPPLE's planner (PPoPP 2021): the first layers on some devices, the rest as one stage on all others, and that rest
/// cut again, under three ways to place a stage on machines; kept per layers placed and devices in use is the prefix of
/// least latency L = T_w + T_s + T_e (`pivot_latency`).
Plan plan_dapple(const PlanProblem& problem) { return DappleSearch(problem).solve(); }

}  // namespace

Planner dapple_planner() {
  return {.name = "dapple",
          .paper = "Fan et al., PPoPP 2021",
          .year = 2021,
          .minimises = "latency of a synchronous step",
          .uncertain =
              "on which side of the pivot's own backward later stages count is as in the paper's formula; "
              "split and concatenation of replicas cost as much as the whole transfer",
          .asked_up_to = {.layers = 200, .devices = 16},
          .plan = plan_dapple};
}

}  // namespace plumb
