#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/planner.hpp"
#include "sim/planners/shares/layer_choices.hpp"

namespace plumb {
namespace {

constexpr std::array kOsdpOptions{NamedOption{"choices", list_form("MIB:MS,MIB:MS,..."), "rings between the devices",
                                              "memory and time of every strategy of a layer, as measured"}};

constexpr std::int64_t kBytesPerMib = std::int64_t{1} << 20;
constexpr double kNsPerMs = 1e6;
constexpr double kMostChoiceMs = 1e9;
constexpr std::int64_t kMostChoiceMib = std::int64_t{1} << 20;

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

/// "672:91.7,486:98.4": of every strategy the memory of a layer in MiB and its time in ms.
std::vector<LayerChoice> measured_choices(const std::string& text) {
  std::vector<LayerChoice> choices;
  const char* next = text.data();
  const char* const end = next + text.size();
  const auto fail = [&]() -> void {
    throw Error("option choices: expected MiB:ms of every strategy, such as 672:91.7,486:98.4, found '" + text + "'");
  };
  for (;;) {
    LayerChoice choice;
    const auto [colon, bad_memory] = std::from_chars(next, end, choice.memory);
    if (bad_memory != std::errc{} || choice.memory < 0 || choice.memory > kMostChoiceMib || colon == end ||
        *colon != ':')
      fail();
    const auto [comma, bad_time] = std::from_chars(colon + 1, end, choice.time);
    if (bad_time != std::errc{} || !(choice.time >= 0 && choice.time < kMostChoiceMs)) fail();
    choice.time *= kNsPerMs;
    choices.push_back(choice);
    if (comma == end) return choices;
    if (*comma != ',') fail();
    next = comma + 1;
  }
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

/// OSDP (Jiang et al., IJCAI 2023): data parallelism in which every layer is replicated or sharded on its own: as many
/// as fit are replicated, chosen by an exact knapsack over memory in MiB, for the least sum of times. Option `choices`
/// gives the strategies of every layer as measured, for any number of them.
Plan plan_osdp(const PlanProblem& problem) {
  problem.stop.check();
  const LayerChain chain = chain_of(problem.network.layers);
  std::vector<std::vector<LayerChoice>> layers;
  std::int64_t most = 0;
  const std::string* measured = OptionReader(kOsdpOptions, problem.options).text("choices");
  for (std::size_t layer = 0; layer < chain.size(); ++layer) {
    layers.push_back(measured == nullptr ? layer_choices(chain, layer, problem) : measured_choices(*measured));
    most += std::ranges::max_element(layers.back(), {}, &LayerChoice::memory)->memory;
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
  if (measured != nullptr) {
    for (std::size_t choice = 0; choice < layers.front().size(); ++choice) {
      const std::string chosen_by = ranges_text(chosen->choice, choice);
      if (!chosen_by.empty()) plan.remarks.push_back("strategy " + std::to_string(choice) + ": layers " + chosen_by);
    }
    return plan;
  }
  const std::string sharded = ranges_text(chosen->choice, 1);
  plan.remarks.push_back(sharded.empty() ? "no layer is sharded" : "sharded layers: " + sharded);
  return plan;
}

}  // namespace

Planner osdp_planner() {
  return {.name = "osdp",
          .paper = "Jiang et al., IJCAI 2023",
          .year = 2023,
          .minimises = "sum of layers' times, each replicated or sharded on its own",
          .options = kOsdpOptions,
          .uncertain =
              "operators are not split; times of collectives are those of rings and nothing hides them; "
              "with `choices` both are as measured",
          .plan = plan_osdp};
}

}  // namespace plumb
