#include <algorithm>
#include <cmath>
#include <string>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/methods.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/shares/layer_choices.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kBytesPerMib = std::int64_t{1} << 20;

std::int64_t mebibytes(double bytes) {
  return static_cast<std::int64_t>(std::ceil(bytes / static_cast<double>(kBytesPerMib)));
}

/// Replicated: all states, gradients reduced. Sharded: a share of the states and the weights while the layer runs;
/// weights gathered twice and gradients scattered, one and a half times as many bytes.
std::vector<LayerChoice> layer_choices(const LayerChain& chain, std::size_t layer, const PlanProblem& problem) {
  const std::int32_t n = problem.num_devices();
  const auto weights = static_cast<double>(chain.parameters(layer, layer + 1));
  const auto kept = static_cast<double>(chain.activations(layer, layer + 1));
  const auto computed = static_cast<double>(chain.total(layer, layer + 1));
  const double reduced = n > 1 ? ring_ns(weights, n, problem.bytes_per_s_between(n)) : 0;
  return {{mebibytes(kStateCopies * weights + kept), computed + reduced},
          {mebibytes(kStateCopies * weights / n + weights + kept), computed + 1.5 * reduced}};
}

/// "0-3, 7": positions of the chain.
std::string ranges_text(const std::vector<std::size_t>& choice, std::size_t wanted) {
  std::string text;
  for (std::size_t begin = 0; begin < choice.size(); ++begin) {
    if (choice[begin] != wanted) continue;
    std::size_t end = begin;
    while (end + 1 < choice.size() && choice[end + 1] == wanted) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(begin) + (end > begin ? "-" + std::to_string(end) : "");
    begin = end;
  }
  return text;
}

}  // namespace

/// OSDP (Jiang et al., IJCAI 2023): data parallelism in which every layer is replicated or sharded on its own: as many
/// as fit are replicated, chosen by an exact knapsack over memory in MiB, for the least sum of times.
Plan plan_osdp(const PlanProblem& problem) {
  problem.stop.check();
  const LayerChain chain = chain_of(problem.network.layers);
  std::vector<std::vector<LayerChoice>> layers;
  std::int64_t most = 0;
  for (std::size_t layer = 0; layer < chain.size(); ++layer) {
    layers.push_back(layer_choices(chain, layer, problem));
    most += std::max(layers.back()[0].memory, layers.back()[1].memory);
  }
  const std::int64_t limit = problem.memory_bytes > 0 ? std::min(most, problem.memory_bytes / kBytesPerMib) : most;
  const std::optional<ChosenLayers> chosen = cheapest_choices(layers, limit);
  if (!chosen)
    throw Error("osdp: the network does not fit into the memory of the devices, even when all layers are sharded");
  Plan plan;
  plan.claimed_ns = plan.lower_bound_ns = chosen->time;
  plan.microbatches = 1;
  plan.states = static_cast<std::int64_t>(chain.size()) * (limit + 1);
  plan.stages.push_back(chain_stage(chain, 0, chain.size(), problem.num_devices()));
  plan.stages.back().load_ns = chosen->time;
  const std::string sharded = ranges_text(chosen->choice, 1);
  plan.remarks.push_back(sharded.empty() ? "no layer is sharded" : "sharded layers: " + sharded);
  return plan;
}

}  // namespace plumb
