#include "tools/training/pace_arguments.hpp"

#include <array>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/sources/profile.hpp"
#include "tools/formats/run_profile_document.hpp"
#include "tools/options/run_options.hpp"
#include "trainer/backends/backends.hpp"

namespace plumb {
namespace {

/// More blocks than most schedules have stages.
constexpr int kStandInBlocks = 128;
constexpr std::int64_t kStandInWidth = 8;
constexpr std::int64_t kByteVocabulary = 256;

/// What is run where only times are given: a network that reads bytes, with small blocks.
Network stand_in() {
  Network network;
  network.name = "blocks";
  network.samples = 1;
  network.sequence = kStandInWidth;
  network.layers.push_back({.kind = LayerKind::kEmbedding,
                            .name = "embedding",
                            .width = kStandInWidth,
                            .vocabulary = kByteVocabulary,
                            .positions = kStandInWidth});
  for (int k = 0; k < kStandInBlocks; ++k) {
    const std::string name = "block" + std::to_string(k);
    network.layers.push_back(
        {.kind = LayerKind::kResidual,
         .name = name,
         .width = kStandInWidth,
         .body = {{.kind = LayerKind::kMlp, .name = name + ".mlp", .width = kStandInWidth, .hidden = kStandInWidth}}});
  }
  network.layers.push_back(
      {.kind = LayerKind::kHead, .name = "head", .width = kStandInWidth, .vocabulary = kByteVocabulary});
  return network;
}

void refuse_with_others(const PaceArguments& given) {
  const std::string why = ": applies to runs with given times, expected --backend paced with it";
  const std::array<std::pair<bool, const char*>, 6> options{
      {{!given.cluster.empty(), "--cluster"},
       {!given.messages.runtime.empty(), "--runtime"},
       {given.messages.transfers.has_value(), "--transfers"},
       {given.messages.receives.has_value(), "--receives"},
       {given.messages.send_buffers.has_value(), "--send-buffers"},
       {given.dilation.has_value(), "--dilation"}}};
  for (const auto& [is_given, name] : options) {
    if (is_given) throw Error(name + why);
  }
}

/// What a run without arithmetic cannot do.
void refuse_arithmetic(const TrainArguments& training) {
  const std::string why = ": the back end paced computes nothing, expected another --backend with it";
  if (!training.weights.empty()) throw Error("--weights" + why);
  if (training.model.evaluate_every) throw Error("--evaluate-every" + why);
  if (training.model.held_out) throw Error("--held-out" + why);
  if (training.translate) throw Error("--translate" + why);
}

/// Abstract times and the profile of a real run know no network.
bool knows_no_network(const CostArguments& costs) {
  if (!costs.cost.empty()) return true;
  return !costs.profile.empty() &&
         run_profile_in(read_text_file(costs.profile, kProfileFile), costs.profile).has_value();
}

}  // namespace

void PaceArguments::add_to(OptionTable& parser) {
  parser.group("Runs with given times (back end paced)")
      .text("cluster", cluster, "NAME|FILE",
            "devices and links: with --network instead of --cost, the times that actions take there")
      .real("dilation", dilation, {1e-6, 1e6},
            "real time for given time: at 10 a forward of 1 ms takes 10 ms, and counts as 1 ms (default: 1)");
  add_messages_to(parser, messages);
}

void PaceArguments::complete(CostArguments& costs, TrainArguments& training) const {
  ModelArguments& model = training.model;
  if (!backend(model.backend).paced) return refuse_with_others(*this);
  refuse_arithmetic(training);
  costs.cluster = cluster;
  if (knows_no_network(costs)) {
    if (model.network.empty()) model.stand_in = stand_in();
    if (model.partition.empty()) model.partition = "equal";
    return;
  }
  costs.partition = model.partition;
  costs.network = model.network;
  costs.samples = model.samples;
  costs.sequence = model.sequence;
  if (!costs.profile.empty()) {
    if (!model.network.empty()) return;
    model.network = profile_from_json(read_text_file(costs.profile, kProfileFile), costs.profile).network;
    return;
  }
  if (cluster.empty()) {
    throw Error(
        "--backend paced: the times are missing, expected --cost LIST (such as F=10,B=20), --profile FILE, or " +
        std::string("--network NAME --cluster NAME"));
  }
  costs.precision = model.numbers == "bf16" ? "mixed" : "single";
}

void PaceArguments::apply(const PricedPipeline& input, const Schedule& schedule, TrainOptions& options) const {
  if (input.partition) options.model.partition = *input.partition;
  options.execution.cluster = input.cluster_pointer();
  options.execution.lowering = messages.lowering(schedule);
  StageCosts costs = input.costs;
  costs.runtime = {};  // its own host and calls are real
  options.execution.pace = PaceOptions{.costs = std::move(costs),
                                       .transfers = messages.simulation(schedule).transfers,
                                       .dilation = dilation.value_or(1)};
}

}  // namespace plumb
