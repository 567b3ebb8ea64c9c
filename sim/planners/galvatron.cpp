#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

constexpr double kOverlapFactor = 1.3;  // by which compute and collectives slow each other down
constexpr std::size_t kMemorySteps = 64;

/// How the devices of a stage share one layer.
struct LayerStrategy {
  std::int32_t data = 1;
  std::int32_t tensor = 1;
  bool sharded = false;  ///< weights are divided over data ranks, too
  bool recompute = false;

  std::string text() const {
    return "tp" + std::to_string(tensor) + " " + (sharded ? "sdp" : "dp") + std::to_string(data) +
           (recompute ? " ckpt" : "");
  }
};

std::vector<LayerStrategy> strategies_on(std::int32_t devices) {
  std::vector<LayerStrategy> all;
  for (std::int32_t tensor = 1; tensor <= devices; tensor *= 2) {
    if (devices % tensor != 0) break;
    const std::int32_t data = devices / tensor;
    for (const bool sharded : {false, true}) {
      if (sharded && data == 1) continue;
      for (const bool recompute : {false, true}) all.push_back({data, tensor, sharded, recompute});
    }
  }
  return all;
}

/// f[l][E][S] of one stage: the least time of its layers in E of the memory, the last one run by strategy S.
class StageProgram {
 public:
  StageProgram(const PlanProblem& problem, const LayerChain& chain, std::int32_t devices, double in_flight)
      : problem_(problem),
        chain_(chain),
        devices_(devices),
        in_flight_(in_flight),
        strategies_(strategies_on(devices)),
        rate_(devices == 1 ? kNever : problem.bytes_per_s_between(devices)) {}

  struct Answer {
    double time_ns = kNever;
    std::vector<std::size_t> strategy;  ///< by layer
  };

  const LayerStrategy& strategy(std::size_t k) const { return strategies_[k]; }

  Answer solve(std::size_t begin, std::size_t end) const {
    const std::size_t count = strategies_.size();
    const auto place = [&](std::size_t memory, std::size_t s) { return memory * count + s; };
    std::vector<double> now((kMemorySteps + 1) * count, kNever);
    for (std::size_t s = 0; s < count; ++s) now[place(0, s)] = 0;
    std::vector<std::vector<std::size_t>> from;
    for (std::size_t layer = begin; layer < end; ++layer) {
      problem_.stop.check();
      std::vector<double> next(now.size(), kNever);
      std::vector<std::size_t>& back = from.emplace_back(now.size());
      for (std::size_t s = 0; s < count; ++s) {
        const std::size_t need = memory_steps(layer, strategies_[s]);
        const double own = layer_ns(layer, strategies_[s]);
        for (std::size_t memory = need; memory <= kMemorySteps; ++memory) {
          for (std::size_t old = 0; old < count; ++old) {
            const double moved = layer == begin ? 0 : resharding_ns(layer, strategies_[old], strategies_[s]);
            const double time = now[place(memory - need, old)] + own + moved;
            if (time >= next[place(memory, s)]) continue;
            next[place(memory, s)] = time;
            back[place(memory, s)] = place(memory - need, old);
          }
        }
      }
      now = std::move(next);
    }
    return trace(now, from);
  }

 private:
  Answer trace(const std::vector<double>& now, const std::vector<std::vector<std::size_t>>& from) const {
    std::size_t best = 0;
    for (std::size_t k = 0; k < now.size(); ++k) {
      if (now[k] < now[best]) best = k;
    }
    Answer answer{now[best], {}};
    if (answer.time_ns == kNever) return answer;
    for (std::size_t level = from.size(); level-- > 0;) {
      answer.strategy.push_back(best % strategies_.size());
      best = from[level][best];
    }
    std::reverse(answer.strategy.begin(), answer.strategy.end());
    return answer;
  }

  /// Of a microbatch: compute shared evenly, sums between tensor ranks in front of it, gradients and gathered weights
  /// beside the backward.
  double layer_ns(std::size_t layer, const LayerStrategy& how) const {
    const double again = how.recompute ? static_cast<double>(chain_.forward(layer, layer + 1)) : 0;
    const double compute = (static_cast<double>(chain_.total(layer, layer + 1)) + again) / devices_;
    const double output = static_cast<double>(chain_.cut_bytes[layer + 1]) / how.data;
    const double sums = (how.recompute ? 3 : 2) * ring_ns(output, how.tensor, rate_);
    const double weights = static_cast<double>(chain_.parameters(layer, layer + 1)) / how.tensor;
    double beside = ring_ns(weights, how.data, rate_) / static_cast<double>(problem_.microbatches);
    if (how.sharded) beside += ring_ns(weights, how.data, rate_);  // gathered in both passes
    if (beside == 0) return compute + sums;
    const double backward = compute * static_cast<double>(chain_.backward(layer, layer + 1)) /
                            std::max(1.0, static_cast<double>(chain_.total(layer, layer + 1)));
    const double hidden = std::min(backward, beside) * (kOverlapFactor - 1);
    return compute + sums + std::max(0.0, beside - backward) + hidden;
  }

  std::size_t memory_steps(std::size_t layer, const LayerStrategy& how) const {
    if (problem_.memory_bytes == 0) return 0;
    const double weights = static_cast<double>(chain_.parameters(layer, layer + 1)) / how.tensor;
    const double kept = how.recompute ? static_cast<double>(chain_.cut_bytes[layer])
                                      : static_cast<double>(chain_.activations(layer, layer + 1)) / how.tensor;
    const double bytes = kStateCopies * weights / (how.sharded ? how.data : 1) + in_flight_ * kept / how.data;
    const double steps = std::ceil(bytes / static_cast<double>(problem_.memory_bytes) * kMemorySteps);
    return steps > kMemorySteps ? kMemorySteps + 1 : static_cast<std::size_t>(steps);
  }

  /// An activation that the next layer wants divided otherwise is gathered.
  double resharding_ns(std::size_t layer, const LayerStrategy& old, const LayerStrategy& next) const {
    if (old.tensor == next.tensor) return 0;
    return ring_ns(static_cast<double>(chain_.cut_bytes[layer]) / std::min(old.data, next.data),
                   std::max(old.tensor, next.tensor), rate_);
  }

  const PlanProblem& problem_;
  const LayerChain& chain_;
  std::int32_t devices_;
  double in_flight_;
  std::vector<LayerStrategy> strategies_;
  double rate_;
};

/// Stages with the strategy that most of their layers have; all of them in the remark.
Plan pipeline_plan(const PlanProblem& problem, const LayerChain& chain, std::int32_t length) {
  const std::int32_t share = problem.num_devices() / length;
  const std::vector<std::size_t> bounds = balanced_bounds(chain, length);
  Plan plan;
  plan.microbatches = problem.microbatches;
  double sum = 0;
  double slowest = 0;
  for (std::int32_t s = 0; s < length; ++s) {
    const auto in_flight = static_cast<double>(std::min<std::int64_t>(length - s, problem.microbatches));
    const StageProgram program(problem, chain, share, in_flight);
    const StageProgram::Answer answer = program.solve(bounds[at(s)], bounds[at(s) + 1]);
    if (answer.time_ns == kNever) return plan;
    std::map<std::size_t, std::size_t> counts;
    for (const std::size_t strategy : answer.strategy) ++counts[strategy];
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const LayerStrategy& how = program.strategy(most->first);
    PlanStage stage = chain_stage(chain, bounds[at(s)], bounds[at(s) + 1], how.data);
    stage.tensor_degree = how.tensor;
    stage.recompute = how.recompute;
    stage.load_ns = answer.time_ns;
    plan.stages.push_back(std::move(stage));
    if (counts.size() > 1) {
      std::string remark = "stage " + std::to_string(s) + ":";
      for (const auto& [strategy, layers] : counts) {
        remark += " " + std::to_string(layers) + " layers " + program.strategy(strategy).text() + ",";
      }
      remark.pop_back();
      plan.remarks.push_back(std::move(remark));
    }
    sum += answer.time_ns;
    slowest = std::max(slowest, answer.time_ns);
  }
  plan.claimed_ns = sum + static_cast<double>(problem.microbatches - 1) * slowest;
  return plan;
}

/// Galvatron (Miao et al., VLDB 2023): for every length of the pipeline that divides the devices, balanced stages; in
/// each a strategy per layer of data, sharded-data and tensor parallelism with or without recompute by
///
///     f[l][E][S] = min over S' of f[l-1][E - O(l, S)][S'] + c(l, S) + R(l, S', S)
///
/// over memory E in 64 steps. Minimised is the sum of the stages' times + (m - 1) times the slowest.
Plan plan_galvatron(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  Plan best;
  best.claimed_ns = kNever;
  std::int64_t tried = 0;
  for (std::int32_t length = 1; length <= problem.num_devices() && at(length) <= chain.size(); ++length) {
    if (problem.num_devices() % length != 0) continue;
    ++tried;
    Plan plan = pipeline_plan(problem, chain, length);
    if (plan.claimed_ns > 0 && plan.claimed_ns < best.claimed_ns) best = std::move(plan);
  }
  if (best.stages.empty()) throw Error("galvatron: the network does not fit into the memory of the devices");
  best.states = tried;
  return best;
}

}  // namespace

Planner galvatron_planner() {
  return {.name = "galvatron",
          .paper = "Miao et al., VLDB 2023",
          .year = 2023,
          .minimises = "sum of stage times + (m - 1) slowest stage, a strategy for every layer",
          .uncertain =
              "times of divided layers are not measured: compute is shared evenly, sums are rings over "
              "outputs; compute and collectives slow each other by 1.3; a stage is reported with the "
              "strategy of most of its layers",
          .asked_up_to = {.layers = 500, .devices = 64},
          .plan = plan_galvatron};
}

}  // namespace plumb
