#include "tools/options/jobs/job_arguments.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/jobs/unlike_tensor.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// In the order of `WeightGradients`.
constexpr std::array<std::string_view, 3> kWeightGradientNames{"none", "passed", "placeholders"};

const std::string kTensorByRank = "--tp-by-rank";

}  // namespace

void JobArguments::add_to(OptionTable& parser, JobRanges* ranges) {
  const std::string title = "Parallelism inside a stage, with --network and --cluster";
  if (ranges != nullptr) {
    parser.group(title);
    ranges->add_to(parser);
  } else {
    parser.group(title + " (also --recompute selective, full or modules: norm+activation+moe+mla_up_proj)")
        .whole("tp", degrees.tensor, {}, "tensor-parallel degree")
        .text("tp-by-rank", tensor_by_rank, "LIST",
              "tensor-parallel degree of every pipeline rank, where they differ: 2-2-4-4 (instead of --tp)")
        .whole("cp", degrees.context, {}, "context-parallel degree: parts that each sequence is split into")
        .whole("ep", degrees.expert, {}, "expert-parallel degree, part of the TP x CP x DP ranks")
        .whole("etp", degrees.expert_tensor, {}, "ranks that divide every expert (default: as TP)")
        .whole("dp", degrees.data, {}, "data-parallel degree: copies of the pipeline")
        .whole("zero", degrees.zero, {0, 3},
               "ZeRO stage: shard 1 the optimizer state, 2 also the gradients, 3 also the weights (FSDP)")
        .whole("microbatch-size", degrees.microbatch_size, {},
               "samples per microbatch and data-parallel rank (default: as in the network)");
  }
  parser
      .flag("sequence-parallel", sequence_parallel,
            "sequence parallelism: split norms and dropout over the TP ranks as well")
      .flag("cp-by-heads", cp_by_heads, "CP ranks exchange heads (a2a, Ulysses) instead of passing keys and values on")
      .text("dispatcher", dispatcher, "NAME",
            "how tokens come to their experts: all-to-all, or deepep (once to every node) (default: all-to-all)")
      .words(kDispatcherNames)
      .real("capacity", capacity, {},
            "tokens that an expert takes, relative to the average: the rest is dropped (default: it takes all)")
      .real("imbalance", imbalance, {}, "load of the busiest expert rank relative to the average (default: 1)");
  lora.add_to(parser);
  parser.flag("low-precision-dispatch", low_precision_dispatch, "tokens travel to their experts in 8 bits")
      .flag("no-flash-attention", no_flash_attention, "attention stores its score matrix")
      .flag("dropout", dropout, "store dropout masks (default: for networks whose attention has biases)")
      .flag("fused-loss", fused_loss, "the loss writes its gradient over the logits: no copy of them in 32 bits")
      .text("weight-gradients", weight_gradients, "NAME",
            "memory of weight gradients before they are added: none, one while its product runs (passed), or one kept "
            "per shape of weights (placeholders: Transformer Engine from 2.3) (default: passed)")
      .words(kWeightGradientNames)
      .text("captured", captured, "WHAT",
            "what the host starts as one captured graph (CUDA graph): dense (of every layer all but the experts), all "
            "(the whole pass) (default: none)")
      .words(kCapturedGraphNames)
      .flag("no-prefetch", no_prefetch, "ZeRO-3 gathers weights when they are needed, not one layer ahead")
      .text("shard-layers", shard_layers, "LIST",
            "of every stage so many of the first layers are sharded as by ZeRO 3, the others as --zero says: 4-2-0 "
            "(OSDP)");
  traffic.add_to(parser);
  parser.text("rates", rates, "FILE", "speeds that kernels reach (default: built in for the device's name)");
}

bool JobArguments::any() const {
  const bool switched = sequence_parallel || low_precision_dispatch || no_flash_attention || dropout || fused_loss ||
                        no_prefetch || cp_by_heads;
  return described || degrees.any() || switched || capacity || imbalance || lora.any() || traffic.any() ||
         !shard_layers.empty() || !tensor_by_rank.empty() || !dispatcher.empty() || !captured.empty() ||
         !weight_gradients.empty() || !rates.empty();
}

void JobArguments::take_recompute(std::string& schedule_recompute) {
  if (!layer_recompute_of(schedule_recompute)) return;
  degrees.recompute = std::move(schedule_recompute);
  schedule_recompute.clear();
}

Parallelism JobArguments::parallelism(const std::optional<Precision>& precision, MatrixFormat format) const {
  Parallelism job = described.value_or(Parallelism{});
  job.tensor = degrees.tensor.value_or(job.tensor);
  job.context = degrees.context.value_or(job.context);
  job.expert = degrees.expert.value_or(job.expert);
  job.expert_tensor = degrees.expert_tensor.value_or(job.expert_tensor);
  job.data = degrees.data.value_or(job.data);
  if (degrees.zero) job.zero = static_cast<ZeroStage>(*degrees.zero);
  job.microbatch_size = degrees.microbatch_size.value_or(job.microbatch_size);
  // What a launch file says of tensor ranks means nothing where an option leaves one.
  if (described && job.tensor == 1) job.sequence_parallel = job.overlap_products = false;
  job.sequence_parallel |= sequence_parallel;
  job.flash_attention &= !no_flash_attention;
  if (dropout) job.dropout = true;
  job.context_by_heads |= cp_by_heads;
  job.overlap_weights &= !no_prefetch;
  job.low_precision_dispatch |= low_precision_dispatch;
  if (const Lora adapters = lora.adapters(); adapters.rank > 0) {
    job.adapter_rank = adapters.rank;
    job.adapter_targets = adapters.targets;
  }
  job.zero_by_layer |= !shard_layers.empty();
  if (!described || precision) job.precision = precision.value_or(kMixedPrecision);
  if (!described || precision) job.format = format;
  if (const auto recompute = layer_recompute_of(degrees.recompute)) {
    job.recompute = recompute->all;
    job.recompute_layers = 0;
    job.modules = recompute->modules;
  }
  set_captured(job);
  set_experts(job);
  set_memory(job);
  traffic.apply(job);
  if (tensor_by_rank.empty()) return job;
  if (degrees.tensor) throw Error(kTensorByRank + ": has the degree of every pipeline rank, expected no --tp with it");
  return with_tensor_by_place(std::move(job), tensor_degrees_by_rank());
}

std::vector<std::int32_t> JobArguments::tensor_degrees_by_rank() const {
  std::vector<std::int32_t> by_rank;
  if (tensor_by_rank.empty()) return by_rank;
  for (const std::string& word : split(tensor_by_rank, '-')) {
    by_rank.push_back(static_cast<std::int32_t>(parse_whole(word, {1, 1'000'000}, kTensorByRank)));
  }
  return by_rank;
}

StageChoices JobArguments::stage_choices() const {
  StageChoices choices;
  if (const auto recompute = layer_recompute_of(degrees.recompute)) choices.recomputed = recompute->by_stage;
  if (shard_layers.empty()) return choices;
  const auto counts = layer_recompute_of("layers=" + shard_layers);
  if (!counts || counts->by_stage.empty()) {
    throw Error("--shard-layers: expected how many layers of every stage, such as 4-2-0, found '" + shard_layers + "'");
  }
  choices.sharded = counts->by_stage;
  return choices;
}

void JobArguments::set_captured(Parallelism& job) const {
  if (captured.empty()) return;
  const auto name = std::ranges::find(kCapturedGraphNames, captured);
  if (name == kCapturedGraphNames.end()) throw_unknown("value of --captured", captured, kCapturedGraphNames);
  job.captured = static_cast<CapturedGraphs>(name - kCapturedGraphNames.begin());
}

void JobArguments::set_memory(Parallelism& job) const {
  job.fused_loss |= fused_loss;
  if (weight_gradients.empty()) return;
  const auto name = std::ranges::find(kWeightGradientNames, weight_gradients);
  if (name == kWeightGradientNames.end())
    throw_unknown("kind of weight gradients", weight_gradients, kWeightGradientNames);
  job.weight_gradients = static_cast<WeightGradients>(name - kWeightGradientNames.begin());
}

void JobArguments::set_experts(Parallelism& job) const {
  const auto factor = [](const std::optional<double>& value, const char* option, double& field) {
    if (!value) return;
    if (!(*value >= 1 && *value <= 1000)) throw Error(std::string(option) + ": expected a factor from 1 to 1000");
    field = *value;
  };
  factor(capacity, "--capacity", job.expert_capacity);
  factor(imbalance, "--imbalance", job.expert_imbalance);
  if (dispatcher.empty()) return;
  const auto name = std::ranges::find(kDispatcherNames, dispatcher);
  if (name == kDispatcherNames.end()) throw_unknown("dispatcher", dispatcher, kDispatcherNames);
  job.dispatcher = static_cast<Dispatcher>(name - kDispatcherNames.begin());
}

KernelRates JobArguments::rates_of(const DeviceSpec& device) const {
  return rates.empty() ? kernel_rates_of(device)
                       : kernel_rates_from_json(read_text_file(rates, kKernelRatesFile), rates);
}

}  // namespace plumb
