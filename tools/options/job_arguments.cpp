#include "tools/options/job_arguments.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/jobs/layer_recompute.hpp"
#include "models/jobs/unlike_tensor.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/parse_range.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 7> kLayerRecompute{"none",       "selective", "full",       "norm",
                                                          "activation", "moe",       "mla_up_proj"};

/// Every one of `jobs` with every value of the range.
void spread(std::vector<JobDegrees>& jobs, std::optional<std::int64_t> JobDegrees::*degree, const std::string& range,
            const char* where, NumberRange within = {1, 1'000'000}) {
  if (range.empty()) return;
  std::vector<JobDegrees> all;
  for (const JobDegrees& job : jobs) {
    for (const std::int64_t value : parse_range(range, where, within)) {
      all.push_back(job);
      all.back().*degree = value;
    }
  }
  jobs = std::move(all);
}

void spread_recompute(std::vector<JobDegrees>& jobs, const std::string& names) {
  if (names.empty()) return;
  std::vector<JobDegrees> all;
  for (const JobDegrees& job : jobs) {
    for (const std::string& name : split(names, ',')) {
      if (!layer_recompute_of(name)) {
        throw_unknown("--recompute choice", name, kLayerRecompute);
      }
      all.push_back(job);
      all.back().recompute = name;
    }
  }
  jobs = std::move(all);
}

}  // namespace

std::string JobDegrees::text() const {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const auto degree = [&](const char* name, const std::optional<std::int64_t>& value) {
    if (value) add(name + (" " + std::to_string(*value)));
  };
  degree("tp", tensor);
  degree("cp", context);
  degree("ep", expert);
  degree("etp", expert_tensor);
  degree("dp", data);
  degree("zero", zero);
  degree("size", microbatch_size);
  if (!recompute.empty()) add(recompute + " recompute");
  return text;
}

std::string JobDegrees::options_text() const {
  std::string text;
  const auto degree = [&](const char* name, const std::optional<std::int64_t>& value) {
    if (value) text += std::string(" --") + name + " " + std::to_string(*value);
  };
  degree("tp", tensor);
  degree("cp", context);
  degree("ep", expert);
  degree("etp", expert_tensor);
  degree("dp", data);
  degree("zero", zero);
  degree("microbatch-size", microbatch_size);
  return text + (recompute.empty() ? "" : " --recompute " + recompute);
}

void JobRanges::add_to(OptionTable& parser) {
  parser.text("tp", tensor, "RANGE", "tensor-parallel degree")
      .text("cp", context, "RANGE", "context-parallel degree: parts that each sequence is split into")
      .text("ep", expert, "RANGE", "expert-parallel degree, part of the TP x CP x DP ranks")
      .text("etp", expert_tensor, "RANGE", "ranks that divide every expert (default: as TP)")
      .text("dp", data, "RANGE", "data-parallel degree: copies of the pipeline")
      .text("zero", zero, "RANGE",
            "ZeRO stage: shard 1 the optimizer state, 2 also the gradients, 3 also the weights (FSDP)")
      .text("microbatch-size", microbatch_size, "RANGE",
            "samples per microbatch and data-parallel rank (default: as in the network)")
      .text("recompute", recompute, "LIST",
            "recomputation within layers: none, selective, full, or modules such as norm+activation; several with "
            "commas (default: none)");
}

std::vector<JobDegrees> JobRanges::all() const {
  std::vector<JobDegrees> jobs{JobDegrees{}};
  spread(jobs, &JobDegrees::tensor, tensor, "sweep: --tp");
  spread(jobs, &JobDegrees::context, context, "sweep: --cp");
  spread(jobs, &JobDegrees::expert, expert, "sweep: --ep");
  spread(jobs, &JobDegrees::expert_tensor, expert_tensor, "sweep: --etp");
  spread(jobs, &JobDegrees::data, data, "sweep: --dp");
  spread(jobs, &JobDegrees::zero, zero, "sweep: --zero", {0, 3});
  spread(jobs, &JobDegrees::microbatch_size, microbatch_size, "sweep: --microbatch-size");
  spread_recompute(jobs, recompute);
  return jobs;
}

namespace {

/// In the order of `LoraTargets`.
constexpr std::array<std::string_view, 2> kLoraTargetNames{"qkv", "all"};

}  // namespace

void LoraArguments::add_to(OptionTable& parser) {
  parser
      .whole("lora-rank", rank, {},
             "freeze all weights and train low-rank adapters (LoRA) of this rank (default: train weights)")
      .text(
          "lora-targets", targets, "WHICH",
          "what has adapters: qkv (products that make queries, keys and values), all (all products of attention, MLPs "
          "and linear layers) (default: qkv)")
      .words(kLoraTargetNames);
}

void LoraArguments::add_alpha_to(OptionTable& parser) {
  parser.real("lora-alpha", alpha, {0}, "what adapters add counts alpha / rank times (default: twice the rank)");
}

Lora LoraArguments::adapters() const {
  if (!rank) {
    if (any()) throw Error("--lora-alpha, --lora-targets: the rank is missing, expected --lora-rank R with them");
    return {};
  }
  if (alpha && *alpha == 0) throw Error("--lora-alpha: expected a number above 0");
  Lora lora{.rank = *rank, .alpha = alpha.value_or(2.0 * static_cast<double>(*rank))};
  if (!targets.empty()) lora.targets = enumerator<LoraTargets>(kLoraTargetNames, "targets of adapters", targets);
  return lora;
}

namespace {

/// "8", or the groups that are named: "weights=8,optimizer=64"; the others are over all ranks.
ShardGroups parse_shard_groups(const std::string& text) {
  const std::string where = "--shard-group";
  const auto ranks = [&](const std::string& number) { return parse_whole(number, {}, where); };
  if (text.find('=') == std::string::npos) return ShardGroups::of(ranks(text));
  constexpr std::array<std::string_view, 3> kParts{"weights", "gradients", "optimizer"};
  constexpr std::array kFields{&ShardGroups::weights, &ShardGroups::gradients, &ShardGroups::optimizer};
  ShardGroups groups;
  for (const std::string& word : split(text, ',')) {
    const auto [name, number] = parse_assignment(word, where);
    const auto part = std::ranges::find(kParts, name);
    if (part == kParts.end()) throw_unknown("part of --shard-group", name, kParts);
    groups.*kFields[static_cast<std::size_t>(part - kParts.begin())] = ranks(number);
  }
  return groups;
}

void set_message_bits(const std::string& compress_messages, Parallelism& job) {
  const std::size_t comma = std::min(compress_messages.find(','), compress_messages.size());
  const auto bits = [](const std::string& text) {
    return static_cast<std::int32_t>(parse_whole(text, {1, 32}, "--compress-messages"));
  };
  job.activation_bits = bits(compress_messages.substr(0, comma));
  job.activation_grad_bits =
      comma == compress_messages.size() ? job.activation_bits : bits(compress_messages.substr(comma + 1));
}

}  // namespace

void TrafficArguments::add_to(OptionTable& parser) {
  parser
      .text("shard-group", shard_group, "N|LIST",
            "ranks in a group over which ZeRO shards, neighbours (MiCS), or a number for each part: "
            "weights=8,gradients=8,optimizer=64 (AMSP) (default: all ranks)")
      .real("compress-gradients", compress_gradients, {},
            "bytes of reduced gradients, relative to those not compressed (default: 1)")
      .text("compress-messages", compress_messages, "BITS",
            "bits per activation value sent between stages, such as 4, or 4,8 for activations and gradients (AQ-SGD)")
      .real("storage-update", storage_update, {},
            "optimizer state is kept and updated on storage devices; GB/s for each device (Smart-Infinity)")
      .flag("overlap-gradients", overlap_gradients, "overlap the reduction of gradients with the last backward")
      .flag("overlap-parameters", overlap_parameters, "overlap ZeRO's gathering of new weights with the first forward")
      .flag("overlap-tensor", overlap_tensor, "overlap the TP all-reduce of input gradients with W")
      .flag("overlap-products", overlap_products,
            "overlap sequence-parallel communication with matrix products (Megatron-LM --tp-comm-overlap)")
      .flag("overlap-experts", overlap_experts, "overlap MoE dispatch and combine with other computation of the pass");
}

bool TrafficArguments::any() const {
  return !shard_group.empty() || compress_gradients || !compress_messages.empty() || storage_update ||
         overlap_gradients || overlap_parameters || overlap_tensor || overlap_products || overlap_experts;
}

void TrafficArguments::apply(Parallelism& job) const {
  if (!shard_group.empty()) job.shard_groups = parse_shard_groups(shard_group);
  job.gradient_share = compress_gradients.value_or(job.gradient_share);
  if (!compress_messages.empty()) set_message_bits(compress_messages, job);
  if (storage_update) job.storage_bytes_per_s = *storage_update * 1e9;
  job.overlap_gradients |= overlap_gradients;
  job.overlap_parameters |= overlap_parameters;
  job.overlap_tensor |= overlap_tensor;
  job.overlap_products |= overlap_products;
  job.overlap_experts |= overlap_experts;
}

namespace {

/// In the order of `WeightGradients`.
constexpr std::array<std::string_view, 3> kWeightGradientNames{"none", "passed", "placeholders"};

const std::string kTensorByRank = "--tp-by-rank";

}  // namespace

void JobArguments::add_to(OptionTable& parser, JobRanges* ranges) {
  const std::string title = "Parallelism inside a stage, with --network and --cluster";
  if (ranges != nullptr) {
    parser.group(title).closed();
    ranges->add_to(parser);
  } else {
    parser.group(title + " (also --recompute selective, full or modules: norm+activation+moe+mla_up_proj)")
        .closed()
        .whole("tp", degrees.tensor, {}, "tensor-parallel degree")
        .brief()
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
            "MoE dispatcher: all-to-all, or deepep (a token is sent once to every node) (default: all-to-all)")
      .words(kDispatcherNames)
      .real("capacity", capacity, {},
            "MoE capacity factor: tokens of an expert above this multiple of the average are dropped (default: none)")
      .real("imbalance", imbalance, {}, "load of the busiest expert rank relative to the average (default: 1)");
  lora.add_to(parser);
  parser.flag("low-precision-dispatch", low_precision_dispatch, "MoE dispatch in 8 bits")
      .flag("no-flash-attention", no_flash_attention, "attention stores its score matrix")
      .flag("dropout", dropout, "store dropout masks (default: for networks whose attention has biases)")
      .flag("fused-loss", fused_loss, "the loss writes its gradient over the logits: no copy of them in 32 bits")
      .text("weight-gradients", weight_gradients, "NAME",
            "memory of weight gradients before they are added: none, passed (one while its product runs), or "
            "placeholders (one per shape of weights; Transformer Engine from 2.3) (default: passed)")
      .words(kWeightGradientNames)
      .text(
          "captured", captured, "WHAT",
          "scope of CUDA graphs: none, dense (each layer without its experts), or all (the whole pass) (default: none)")
      .words(kCapturedGraphNames)
      .flag("no-prefetch", no_prefetch, "ZeRO-3 gathers weights when they are needed, not one layer ahead")
      .text("shard-layers", shard_layers, "LIST",
            "first layers of each stage that ZeRO 3 shards, such as 4-2-0; --zero says it for the others (OSDP)");
  traffic.add_to(parser);
  parser.text("rates", rates, "FILE", "speeds that kernels reach (default: built in for the device's name)")
      .real("power", power, {}, "power limit of each device in W (default: its document's)");
}

bool JobArguments::any() const {
  const bool switched = sequence_parallel || low_precision_dispatch || no_flash_attention || dropout || fused_loss ||
                        no_prefetch || cp_by_heads;
  return described || degrees.any() || switched || capacity || imbalance || lora.any() || traffic.any() ||
         !shard_layers.empty() || !tensor_by_rank.empty() || !dispatcher.empty() || !captured.empty() ||
         !weight_gradients.empty() || !rates.empty() || power;
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

KernelRates asked_rates(const std::string& rates, const std::optional<double>& power, const DeviceSpec& device) {
  KernelRates found =
      rates.empty() ? kernel_rates_of(device) : kernel_rates_from_json(read_text_file(rates, kKernelRatesFile), rates);
  return power ? at_power(std::move(found), *power) : found;
}

KernelRates JobArguments::rates_of(const DeviceSpec& device) const { return asked_rates(rates, power, device); }

}  // namespace plumb
