#include "tools/plans/plan_commands.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/launches/read_launch.hpp"
#include "models/launches/torchtitan_network.hpp"
#include "models/network/layer_shape.hpp"
#include "models/pricing/profiled_network.hpp"
#include "models/stages/whole_layers.hpp"
#include "schedules/catalogue/pipeline_copies.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/formats/megatron.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// A part of a job, by the words that people know it by.
struct JobPart {
  const char* name;
  bool (*same)(const Parallelism& a, const Parallelism& b);
};

template <auto Member>
bool same_member(const Parallelism& a, const Parallelism& b) {
  return a.*Member == b.*Member;
}

constexpr std::array kJobParts{
    JobPart{"tensor ranks", same_member<&Parallelism::tensor>},
    JobPart{"context ranks", same_member<&Parallelism::context>},
    JobPart{"what context ranks exchange", same_member<&Parallelism::context_by_heads>},
    JobPart{"expert ranks", same_member<&Parallelism::expert>},
    JobPart{"sequence parallelism as it was priced", same_member<&Parallelism::sequence_parallel>},
    JobPart{"its ZeRO stage", same_member<&Parallelism::zero>},
    JobPart{"its recomputation", same_member<&Parallelism::recompute>},
    JobPart{"the modules that it recomputes", same_member<&Parallelism::modules>},
    JobPart{"its samples per microbatch", same_member<&Parallelism::microbatch_size>},
    JobPart{"the bytes of its numbers", same_member<&Parallelism::precision>},
    JobPart{"the format of its products", same_member<&Parallelism::format>},
    JobPart{"its kernel of attention", same_member<&Parallelism::flash_attention>},
    JobPart{"a fused loss", same_member<&Parallelism::fused_loss>},
    JobPart{"a loss that works in place", same_member<&Parallelism::loss_in_place>},
    JobPart{"what is kept of weight gradients", same_member<&Parallelism::weight_gradients>},
    JobPart{"how messages between stages are divided", same_member<&Parallelism::scatter_gather>},
    JobPart{"overlapped gradients", same_member<&Parallelism::overlap_gradients>},
    JobPart{"overlapped parameters", same_member<&Parallelism::overlap_parameters>},
    JobPart{"overlapped tensor collectives", same_member<&Parallelism::overlap_tensor>},
    JobPart{"overlapped products", same_member<&Parallelism::overlap_products>},
    JobPart{"overlapped experts", same_member<&Parallelism::overlap_experts>},
    JobPart{"gathering ahead", same_member<&Parallelism::overlap_weights>},
    JobPart{"the capacity of its experts", same_member<&Parallelism::expert_capacity>},
    JobPart{"unevenly loaded experts", same_member<&Parallelism::expert_imbalance>},
    JobPart{"its dispatcher", same_member<&Parallelism::dispatcher>},
    JobPart{"its captured graphs", same_member<&Parallelism::captured>},
    JobPart{"dispatch in 8 bits", same_member<&Parallelism::low_precision_dispatch>},
    JobPart{"adapters", same_member<&Parallelism::adapter_rank>},
};

/// Whether the schedule that the launch names has the lists of the plan. One that it reads from a file has.
bool same_order(const LaunchJob& launch, const Schedule& schedule) {
  if (!launch.schedule_file.empty()) return true;
  if (launch.pipeline == 1 && schedule.num_devices == 1) return true;
  const Schedule read = generate(launch.schedule, {.num_devices = static_cast<std::int32_t>(launch.pipeline),
                                                   .num_microbatches = schedule.num_microbatches,
                                                   .chunks = static_cast<std::int32_t>(launch.chunks),
                                                   .options = launch.schedule_options});
  return read.devices == schedule.devices && read.placement == schedule.placement;
}

}  // namespace

void check_launch(const LaunchJob& launch, const PlanQuestion& question, const SimulatedPlan& plan) {
  const PipelinePlan& choice = plan.score.plan;
  const std::string system(question.runtime == nullptr ? "the system" : question.runtime->title);
  const auto check = [&](bool same, const std::string& what) {
    if (!same) throw Error(system + "'s settings cannot say " + what);
  };
  for (const JobPart& part : kJobParts) check(part.same(launch.parallelism, choice.parallelism), part.name);
  if (choice.parallelism.expert > 1) {
    check(launch.parallelism.expert_parts() == choice.parallelism.expert_parts(), "the tensor ranks of its experts");
  }
  const auto& dropout = choice.parallelism.dropout;
  check(!dropout || launch.parallelism.dropout == dropout, "its dropout");
  check(launch.pipeline == choice.places, "its pipeline ranks");
  check(launch.batch == question.job.batch, "its batch");
  const bool cut = launch.partition.bounds.empty() || launch.partition.bounds == choice.partition.bounds;
  check(cut, "its cut into stages");
  check(same_order(launch, plan.schedule), "its order");
}

namespace {

/// Whether the name alone makes the lists of `plan`, as `simulate` asks for them.
bool is_made_by_name(const SimulatedPlan& plan) {
  const PipelinePlan& choice = plan.score.plan;
  if (!choice.replicas.empty()) return false;
  ScheduleParams params{.num_devices = choice.places, .num_microbatches = choice.microbatches, .chunks = choice.chunks};
  if (!choice.shares.empty()) params.options[std::string(kCopyShares)] = shares_text(choice);
  try {
    return generate(choice.schedule, params) == plan.schedule;
  } catch (const Error&) {  // it wants costs
    return false;
  }
}

bool moves_to_host(const Schedule& schedule) {
  bool moves = false;
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : list.actions) moves = moves || (is_move(action.op) && action.where == Action::kHost);
  }
  return moves;
}

/// What `job` is spread over. With `all` also what is the default, so that nothing is left to a launch file.
/// `devices`: of the schedule.
std::string degree_options(const PipelinePlan& plan, std::int32_t devices, bool all) {
  const Parallelism& job = plan.parallelism;
  const auto number = [](const char* option, std::int64_t value) {
    return std::string(" ") + option + " " + std::to_string(value);
  };
  std::string text = number("--tp", job.tensor);
  if (job.has_unlike_tensor()) {
    const auto first = job.tensor_by_place.begin();
    text = " --tp-by-rank " + counts_text({first, first + devices});
  }
  if (job.sequence_parallel) text += " --sequence-parallel";
  text += number("--dp", job.data) + number("--microbatch-size", job.microbatch_size);
  if (all || job.context > 1) text += number("--cp", job.context);
  if (all || job.expert > 1) text += number("--ep", job.expert);
  if (all || job.expert_parts() != job.tensor) text += number("--etp", job.expert_parts());
  if (all || job.zero != ZeroStage::kNone) text += number("--zero", static_cast<int>(job.zero));
  if (all || job.recompute != ActivationRecompute::kNone)
    text += " --recompute " + layer_recompute_text({.all = job.recompute, .by_stage = plan.choices.recomputed});
  if (!plan.choices.sharded.empty()) text += " --shard-layers " + counts_text(plan.choices.sharded);
  return text;
}

/// "weights=8,gradients=8,optimizer=64": those that are over groups.
std::string shard_group_text(const ShardGroups& groups) {
  std::string text;
  const auto add = [&text](const char* part, std::int64_t ranks) {
    if (ranks > 0) text += (text.empty() ? "" : ",") + std::string(part) + "=" + std::to_string(ranks);
  };
  add("weights", groups.weights);
  add("gradients", groups.gradients);
  add("optimizer", groups.optimizer);
  return text;
}

/// How `job` computes, where it is not as jobs do without options. Its precision is that of the launch file, or asked
/// for.
std::string kernel_options(const Parallelism& job) {
  std::string text;
  const auto flag = [&](bool set, const char* option) { text += set ? std::string(" ") + option : ""; };
  const auto value = [&](bool set, const char* option, const std::string& word) {
    text += set ? std::string(" ") + option + " " + word : "";
  };
  value(job.dispatcher != Dispatcher::kAllToAll, "--dispatcher",
        std::string(kDispatcherNames[static_cast<std::size_t>(job.dispatcher)]));
  value(job.expert_capacity > 0, "--capacity", digits_of(job.expert_capacity));
  value(job.expert_imbalance != 1, "--imbalance", digits_of(job.expert_imbalance));
  value(job.adapter_rank > 0, "--lora-rank", std::to_string(job.adapter_rank));
  value(job.adapter_rank > 0 && job.adapter_targets == LoraTargets::kAll, "--lora-targets", "all");
  flag(job.low_precision_dispatch, "--low-precision-dispatch");
  flag(!job.flash_attention, "--no-flash-attention");
  flag(job.dropout.value_or(false), "--dropout");
  flag(job.fused_loss, "--fused-loss");
  value(job.captured != CapturedGraphs::kNone, "--captured",
        std::string(kCapturedGraphNames[static_cast<std::size_t>(job.captured)]));
  flag(!job.overlap_weights, "--no-prefetch");
  flag(job.overlap_gradients, "--overlap-gradients");
  flag(job.overlap_parameters, "--overlap-parameters");
  flag(job.overlap_tensor, "--overlap-tensor");
  flag(job.overlap_products, "--overlap-products");
  flag(job.overlap_experts, "--overlap-experts");
  flag(job.context_by_heads, "--cp-by-heads");
  value(job.shard_groups.any(), "--shard-group", shard_group_text(job.shard_groups));
  value(job.gradient_share < 1, "--compress-gradients", digits_of(job.gradient_share));
  value(job.activation_bits > 0, "--compress-messages",
        std::to_string(job.activation_bits) + "," + std::to_string(job.activation_grad_bits));
  value(job.storage_bytes_per_s > 0, "--storage-update", digits_of(job.storage_bytes_per_s / 1e9));
  return text;
}

}  // namespace

PlanCommand simulate_command(const PlanQuestion& question, const SimulatedPlan& plan, const PlanFile& file) {
  const PipelinePlan& choice = plan.score.plan;
  if (question.limits.host_bytes_per_s > 0 && moves_to_host(plan.schedule)) {
    return {.refused = "its copies to the host are timed by --host-bandwidth, which simulate does not have"};
  }
  std::string text = "plumbline simulate ";
  if (is_made_by_name(plan)) {
    text += choice.schedule + " -p " + std::to_string(choice.places) + " -m " + std::to_string(choice.microbatches);
    if (choice.chunks > 0) text += " -v " + std::to_string(choice.chunks);
    if (!choice.shares.empty()) text += " --opt " + std::string(kCopyShares) + "=" + shares_text(choice);
  } else if (file.path.empty()) {
    return {.refused = "its order is not made by the name of the schedule alone; -o writes that of the best plan"};
  } else {
    text += shell_word(file.path);
  }
  const bool launched = question.said != nullptr;
  text += question.named;
  if (question.vocabulary > 0) text += " --vocabulary " + std::to_string(question.vocabulary);
  text += " --partition " + to_string(choice.partition);
  if (!is_profiled(question.network))
    text += degree_options(choice, plan.schedule.num_devices, launched) + kernel_options(choice.parallelism);
  if (question.runtime != nullptr || launched)
    text += " --runtime " + std::string(question.runtime == nullptr ? "plumbline" : question.runtime->name);
  return {.text = text};
}

std::optional<PlanCommand> launch_command(const PlanQuestion& question, const SimulatedPlan& plan) {
  const std::string_view name = question.runtime == nullptr ? "" : question.runtime->name;
  if (name == "megatron") return megatron_command(question, plan);
  if (name == "torchtitan") return torchtitan_command(question, plan);
  if (name == "deepspeed") return deepspeed_command(question, plan);
  return std::nullopt;
}

PlanCommand deepspeed_command(const PlanQuestion& question, const SimulatedPlan& plan) {
  const PipelinePlan& choice = plan.score.plan;
  const Parallelism& job = choice.parallelism;
  const bool recomputes = job.recompute == ActivationRecompute::kFull;
  nlohmann::ordered_json json{{"train_batch_size", question.job.batch},
                              {"train_micro_batch_size_per_gpu", job.microbatch_size},
                              {"gradient_accumulation_steps", choice.microbatches}};
  if (job.precision.activation_bytes == kMixedPrecision.activation_bytes) json["bf16"] = {{"enabled", true}};
  json["zero_optimization"] = {{"stage", static_cast<int>(job.zero)}};
  if (job.overlap_gradients) json["zero_optimization"]["overlap_comm"] = true;
  if (job.tensor > 1) json["tensor_parallel"] = {{"autotp_size", job.tensor}};
  json["pipeline"] = {{"stages", choice.places},
                      {"partition", "type:transformer"},
                      {"activation_checkpoint_interval", recomputes ? 1 : 0}};
  try {
    PlanCommand command{.text = json.dump(2) + "\n"};
    LaunchJob launch = read_launch(command.text, "deepspeed.json");
    place_launch(launch, choice.num_devices());
    check_launch(launch, question, plan);
    return command;
  } catch (const Error& error) {
    return {.refused = error.what()};
  }
}

namespace {

/// Lines of a TOML document.
class TomlLines {
 public:
  void table(const std::string& name) { text_ += (text_.empty() ? "[" : "\n[") + name + "]\n"; }
  void raw(const std::string& key, const std::string& value) { text_ += key + " = " + value + "\n"; }
  void text(const std::string& key, std::string_view value) { raw(key, '"' + std::string(value) + '"'); }
  void number(const std::string& key, std::int64_t value) { raw(key, std::to_string(value)); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Modules of every stage by torchtitan's names: [["tok_embeddings", "layers.0"], ...].
std::string modules_of(const std::vector<LayerCounts>& stages) {
  std::string text;
  std::size_t layer = 0;
  for (const LayerCounts& stage : stages) {
    std::string names = stage.embedding ? "\"tok_embeddings\"" : "";
    const auto add = [&](const std::string& name) { names += (names.empty() ? "\"" : ", \"") + name + "\""; };
    for (std::size_t k = 0; k < stage.decoders; ++k) add("layers." + std::to_string(layer++));
    if (stage.head) {
      add("norm");
      add("output");
    }
    text += (text.empty() ? "[\n  [" : ",\n  [") + names + "]";
  }
  return text + "\n]";
}

/// PyTorch's classes that make an order of the catalogue themselves.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTitanClasses{
    {{"1f1b", "1F1B"},
     {"torch-1f1b", "1F1B"},
     {"gpipe", "GPipe"},
     {"torch-gpipe", "GPipe"},
     {"torch-interleaved", "Interleaved1F1B"}}};

std::string_view titan_class(std::string_view schedule) {
  for (const auto& [ours, theirs] : kTitanClasses) {
    if (ours == schedule) return theirs;
  }
  return {};
}

/// "v" where stages go there and back over the devices, "loop" where they begin anew; anything else is refused.
bool is_v(const Schedule& schedule) {
  const std::int32_t p = schedule.num_devices;
  const auto fits = [&](auto device_of_stage) {
    for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
      const std::vector<DeviceId> expected{DeviceId{device_of_stage(stage)}};
      if (schedule.placement[0][static_cast<std::size_t>(stage)] != expected) return false;
    }
    return true;
  };
  if (fits([&](std::int32_t stage) { return stage % p; })) return false;
  if (fits([&](std::int32_t stage) { return stage / p % 2 == 0 ? stage % p : p - 1 - stage % p; })) return true;
  throw Error("torchtitan places stages in a loop or in a V only");
}

/// Names the order, or the file that says it; returns that file's text.
std::string add_schedule(const SimulatedPlan& plan, TomlLines& out) {
  const std::string_view theirs = titan_class(plan.score.plan.schedule);
  if (!theirs.empty()) {
    out.text("pipeline_parallel_schedule", theirs);
    return {};
  }
  // The class decides where stages lie, the file what is done when.
  out.text("pipeline_parallel_schedule", is_v(plan.schedule) ? "ZBVZeroBubble" : "Interleaved1F1B");
  out.text("pipeline_parallel_schedule_csv", "schedule.csv");
  return schedule_to_torch_csv(plan.schedule);
}

void add_model(const PlanQuestion& question, const Parallelism& job, TomlLines& out) {
  const auto model = titan_model_of(question.network);
  if (!model) throw Error("torchtitan has no preset of network '" + question.network.name + "'");
  out.table("model");
  out.text("name", model->name);
  out.text("flavor", model->flavor);
  if (job.format == MatrixFormat::kFp8Current) out.raw("converters", "[\"float8\"]");
  if (job.format == MatrixFormat::kMxFp8) out.raw("converters", "[\"mx\"]");
}

void add_sharding(const Parallelism& job, TomlLines& out) {
  const bool shards = job.zero != ZeroStage::kNone;
  out.number("data_parallel_replicate_degree", shards ? 1 : job.data);
  out.number("data_parallel_shard_degree", shards ? job.data : 1);
  if (shards) out.text("fsdp_reshard_after_forward", job.zero == ZeroStage::kWeights ? "always" : "never");
  out.number("tensor_parallel_degree", job.tensor);
  out.number("context_parallel_degree", job.context);
  out.number("expert_parallel_degree", job.expert);
  if (job.expert > 1) out.number("expert_tensor_parallel_degree", job.expert_parts());
  if (job.overlap_products) out.raw("enable_async_tensor_parallel", "true");
}

/// The whole configuration; the order goes to `csv` where no class of PyTorch makes it.
std::string titan_text(const PlanQuestion& question, const SimulatedPlan& plan, std::string& csv) {
  const PipelinePlan& choice = plan.score.plan;
  const Parallelism& job = choice.parallelism;
  TomlLines out;
  add_model(question, job, out);
  out.table("training");
  out.number("local_batch_size", (choice.places > 1 ? choice.microbatches : 1) * job.microbatch_size);
  out.number("global_batch_size", question.job.batch);
  out.number("seq_len", question.network.sequence);
  out.table("parallelism");
  add_sharding(job, out);
  out.number("pipeline_parallel_degree", choice.places);
  if (choice.places > 1) {
    out.number("pipeline_parallel_microbatch_size", job.microbatch_size);
    csv = add_schedule(plan, out);
    out.raw("module_fqns_per_model_part", modules_of(layer_counts(question.network, choice.partition)));
  }
  out.table("activation_checkpoint");
  out.text("mode", job.recompute == ActivationRecompute::kFull ? "full" : "none");
  return out.text();
}

}  // namespace

PlanCommand torchtitan_command(const PlanQuestion& question, const SimulatedPlan& plan) {
  try {
    PlanCommand command;
    command.text = titan_text(question, plan, command.csv);
    LaunchJob launch = read_launch(command.text, "torchtitan.toml");
    place_launch(launch, plan.score.plan.num_devices());
    check_launch(launch, question, plan);
    return command;
  } catch (const Error& error) {
    return {.refused = error.what()};
  }
}

namespace {

/// As mixed precision, but gradients are added up in 16 bits.
constexpr Precision kHalfGradients{2, 2, 2, 12};

/// Options of one command, a line of the script each.
class OptionLines {
 public:
  void flag(const std::string& name) { text_ += " \\\n  --" + name; }
  void value(const std::string& name, const std::string& value) { flag(name + " " + value); }
  void value(const std::string& name, std::int64_t value) { flag(name + " " + std::to_string(value)); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

[[noreturn]] void refuse_network(const Network& network, const std::string& what) {
  throw Error("Megatron-LM's options cannot say network '" + network.name + "': " + what);
}

/// The parts of a network that options of pretrain_gpt.py describe: alike decoder layers, some of them with experts.
struct DecoderFacts {
  const LayerSpec* attention = nullptr;  ///< of the first layer
  const LayerSpec* mlp = nullptr;        ///< the first one; none: all have experts
  const LayerSpec* experts = nullptr;    ///< the first one
  const LayerSpec* norm = nullptr;
  std::vector<bool> sparse{};  ///< by decoder layer: has experts
};

bool alike(LayerSpec a, LayerSpec b) {
  a.name = b.name = "";
  return a == b;
}

/// Returns what of a layer the options have no word for here; empty: nothing.
std::string unsaid(const LayerSpec& layer) {
  if (layer.whole_norm) return "a norm of all queries";
  if (layer.sinks) return "sinks of attention";
  if (layer.chunk > 0) return "attention inside of parts of the sequence";
  if (layer.index_heads > 0) return "an indexer of keys";
  if (layer.kind == LayerKind::kAttention && layer.gated) return "a gate of attention";
  if (layer.kind == LayerKind::kAttention && layer.value_width > 0) return "values of another width than keys";
  if (layer.router_bias) return "a bias of the router";
  if (layer.shared_gate) return "a gate of the shared experts";
  return "";
}

void take_part(const Network& network, const LayerSpec& part, DecoderFacts& facts) {
  if (const std::string what = unsaid(part); !what.empty()) {
    refuse_network(network, "layer '" + part.name + "' has " + what);
  }
  const auto same = [&](const LayerSpec*& known) {
    if (known == nullptr) known = &part;
    if (!alike(*known, part)) refuse_network(network, "layer '" + part.name + "' differs from '" + known->name + "'");
  };
  switch (part.kind) {
    case LayerKind::kAttention:
    case LayerKind::kLatentAttention:
      same(facts.attention);
      break;
    case LayerKind::kMlp:
      same(facts.mlp);
      facts.sparse.push_back(false);
      break;
    case LayerKind::kMoe:
      same(facts.experts);
      facts.sparse.push_back(true);
      break;
    case LayerKind::kLayerNorm:
    case LayerKind::kRmsNorm:
      same(facts.norm);
      break;
    default:
      refuse_network(network, "layer '" + part.name + "' is neither attention, MLP, experts nor norm");
  }
}

bool is_norm(LayerKind kind) { return kind == LayerKind::kLayerNorm || kind == LayerKind::kRmsNorm; }

DecoderFacts decoder_facts(const Network& network) {
  DecoderFacts facts;
  std::size_t blocks = 0;
  for (const LayerSpec& layer : network.layers) {
    if (layer.kind != LayerKind::kResidual) continue;
    ++blocks;
    if (layer.body.size() != 2 || !layer.shortcut.empty() || !is_norm(layer.body.front().kind))
      refuse_network(network, "it has other blocks than norm and part");
    for (const LayerSpec& part : layer.body) take_part(network, part, facts);
  }
  const bool known = facts.attention != nullptr && facts.norm != nullptr && 2 * facts.sparse.size() == blocks;
  const bool ends = network.layers.front().kind == LayerKind::kEmbedding &&
                    network.layers.back().kind == LayerKind::kHead && network.layers.size() == blocks + 3;
  if (!known || !ends) refuse_network(network, "expected embedding, decoder layers, norm and head");
  return facts;
}

void add_attention(const LayerSpec& attention, OptionLines& out) {
  out.value("num-attention-heads", attention.heads);
  if (attention.kind == LayerKind::kLatentAttention) {
    out.flag("multi-latent-attention");
    if (attention.query_rank > 0) out.value("q-lora-rank", attention.query_rank);
    out.value("kv-lora-rank", attention.key_rank);
    out.value("qk-head-dim", attention.head_width);
    out.value("qk-pos-emb-head-dim", attention.rotary_width);
    out.value("v-head-dim", attention.value_width);
    return;
  }
  if (attention.kv_heads > 0 && attention.kv_heads != attention.heads) {
    out.flag("group-query-attention");
    out.value("num-query-groups", attention.kv_heads);
  }
  if (attention.head_width > 0) out.value("kv-channels", attention.head_width);
  if (attention.head_norm) out.flag("qk-layernorm");
  if (attention.window > 0) out.value("window-size", std::to_string(attention.window - 1) + ",0");
}

void add_experts(const DecoderFacts& facts, OptionLines& out) {
  const LayerSpec& experts = *facts.experts;
  out.value("num-experts", experts.experts);
  out.value("moe-router-topk", experts.experts_per_token);
  out.value("moe-ffn-hidden-size", experts.hidden);
  if (experts.shared_experts > 0) {
    out.value("moe-shared-expert-intermediate-size", shared_width(experts));
  }
  if (experts.latent_width > 0) out.value("moe-latent-size", experts.latent_width);
  if (facts.mlp != nullptr) {
    std::string pattern;
    for (std::size_t at = 0; at < facts.sparse.size();) {
      std::size_t end = at;
      while (end < facts.sparse.size() && facts.sparse[end] == facts.sparse[at]) ++end;
      pattern += std::string(pattern.empty() ? "" : "+") + "[" + (facts.sparse[at] ? "1" : "0") + "]*" +
                 std::to_string(end - at);
      at = end;
    }
    out.value("moe-layer-freq", "'(" + pattern + ")'");
  }
  out.flag("moe-grouped-gemm");
}

/// Words of the vocabulary, and the unit by which Megatron-LM makes `rows` of them for so many tensor ranks.
void add_vocabulary(std::int64_t words, std::int64_t rows, std::int64_t tensor, OptionLines& out) {
  out.value("vocab-size", words);
  const bool padded = rows % kVocabularyUnit == 0 && kVocabularyUnit % tensor == 0;
  out.value("make-vocab-size-divisible-by", padded ? kVocabularyUnit / tensor : 1);
}

/// Positions of queries and keys. Megatron-LM scales them as Llama 3.1 does, and in no other way.
void add_rotary(const RotaryTurns& turns, OptionLines& out) {
  const auto text = [](double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? std::to_string(whole) : digits_of(value);
  };
  out.value("rotary-base", text(turns.base));
  if (turns.factor == 1) return;
  if (turns != RotaryTurns{.base = turns.base, .factor = turns.factor, .original = 8192}) {
    throw Error("Megatron-LM's options scale rotary positions as Llama 3.1 does only");
  }
  out.flag("use-rope-scaling");
  out.value("rope-scaling-factor", text(turns.factor));
}

void add_network(const PlanQuestion& question, const Parallelism& job, OptionLines& out) {
  const Network& network = question.network;
  const DecoderFacts facts = decoder_facts(network);
  const LayerSpec& embedding = network.layers.front();
  const LayerSpec& attention = *facts.attention;
  const LayerSpec& wide = facts.mlp != nullptr ? *facts.mlp : *facts.experts;
  out.value("num-layers", static_cast<std::int64_t>(facts.sparse.size()));
  out.value("hidden-size", embedding.width);
  out.value("ffn-hidden-size", wide.hidden);
  add_attention(attention, out);
  if (facts.experts != nullptr) add_experts(facts, out);
  if (wide.gated) out.flag("swiglu");
  if (wide.activation == Activation::kRelu) out.flag("squared-relu");
  const bool latent = attention.kind == LayerKind::kLatentAttention;
  const bool bias = facts.mlp != nullptr ? facts.mlp->bias : !latent && attention.bias;
  if (!latent && attention.bias != bias)
    refuse_network(network, "its attention has biases and its MLP not, or the reverse");
  if (!bias) out.flag("disable-bias-linear");
  if (attention.qkv_bias) out.flag("add-qkv-bias");
  out.value("normalization", facts.norm->kind == LayerKind::kRmsNorm ? "RMSNorm" : "LayerNorm");
  if (facts.norm->epsilon != kUsualEpsilon) out.value("norm-epsilon", digits_of(facts.norm->epsilon));
  const bool rotary = attention.rotary || latent;
  out.value("position-embedding-type", rotary ? "rope" : embedding.positions > 0 ? "learned_absolute" : "none");
  if (attention.rotary) add_rotary(attention.turns, out);
  out.value("seq-length", network.sequence);
  out.value("max-position-embeddings", std::max(network.sequence, embedding.positions));
  add_vocabulary(question.words > 0 ? question.words : embedding.vocabulary, embedding.vocabulary, job.tensor, out);
  if (!network.layers.back().tied) out.flag("untie-embeddings-and-output-weights");
  const bool dropout = job.dropout.value_or(!latent && attention.bias);
  out.value("attention-dropout", dropout ? "0.1" : "0.0");
  out.value("hidden-dropout", dropout ? "0.1" : "0.0");
}

void add_precision(const Parallelism& job, OptionLines& out) {
  if (job.precision.activation_bytes != kMixedPrecision.activation_bytes) return;  // 32 bits are the default there
  out.flag("bf16");
  const auto fp8 = [&](const char* recipe) {
    out.value("fp8-format", recipe == std::string("delayed") ? "hybrid" : "e4m3");
    out.value("fp8-recipe", recipe);
  };
  if (job.format == MatrixFormat::kFp8) fp8("delayed");
  if (job.format == MatrixFormat::kFp8Current) fp8("tensorwise");
  if (job.format == MatrixFormat::kFp8Block) fp8("blockwise");
  if (job.format == MatrixFormat::kMxFp8) fp8("mxfp8");
  if (job.format == MatrixFormat::kNvFp4) out.value("fp4-format", "e2m1");
}

/// How the kernels run, and what runs beside them.
void add_kernels(const Network& network, const Parallelism& job, OptionLines& out) {
  if (job.precision == kHalfGradients) out.flag("grad-reduce-in-bf16");
  if (job.overlap_gradients) out.flag("overlap-grad-reduce");
  if (job.overlap_parameters) out.flag("overlap-param-gather");
  if (job.overlap_products) out.flag("tp-comm-overlap");
  if (job.context_by_heads) out.value("cp-comm-type", "a2a");
  if (job.overlap_experts) out.flag("overlap-moe-expert-parallel-comm");
  if (!job.flash_attention) out.value("attention-backend", "unfused");
  if (job.fused_loss) out.flag("cross-entropy-loss-fusion --cross-entropy-fusion-impl te");
  if (job.captured == CapturedGraphs::kAll) out.flag("cuda-graph-impl local --cuda-graph-scope full_iteration");
  if (job.captured == CapturedGraphs::kDense) out.flag("cuda-graph-impl transformer_engine --cuda-graph-scope attn");
  const auto has_experts = [](const LayerSpec& layer) {
    return std::ranges::any_of(layer.body, [](const LayerSpec& part) { return part.kind == LayerKind::kMoe; });
  };
  if (!std::ranges::any_of(network.layers, has_experts)) return;
  const bool deepep = job.dispatcher == Dispatcher::kOncePerNode;
  out.value("moe-token-dispatcher-type", deepep ? "flex --moe-enable-deepep" : "alltoall");
  if (job.expert_capacity > 0) out.value("moe-expert-capacity-factor", digits_of(job.expert_capacity));
}

/// Of every stage the first layers, equally many.
void add_recomputed(const std::vector<std::int32_t>& counts, OptionLines& out) {
  if (counts.empty()) return;
  if (std::ranges::adjacent_find(counts, std::ranges::not_equal_to()) != counts.end()) {
    throw Error("Megatron-LM runs equally many layers of every stage again, expected --recompute none or full");
  }
  out.flag("recompute-granularity full --recompute-method block --recompute-num-layers " +
           std::to_string(counts.front()));
}

void add_ranks(const PlanQuestion& question, const PipelinePlan& plan, OptionLines& out) {
  const Parallelism& job = plan.parallelism;
  out.value("tensor-model-parallel-size", job.tensor);
  if (job.sequence_parallel) out.flag("sequence-parallel");
  if (job.context > 1) out.value("context-parallel-size", job.context);
  if (job.expert > 1) out.value("expert-model-parallel-size", job.expert);
  if (job.expert_parts() != job.tensor) out.value("expert-tensor-parallel-size", job.expert_parts());
  out.value("micro-batch-size", job.microbatch_size);
  out.value("global-batch-size", question.job.batch);
  if (job.zero == ZeroStage::kOptimizer) out.flag("use-distributed-optimizer");
  if (job.recompute == ActivationRecompute::kFull) {
    out.flag("recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
  }
  if (job.recompute == ActivationRecompute::kSelective) out.flag("recompute-granularity selective");
  add_recomputed(plan.choices.recomputed, out);
  if (job.zero > ZeroStage::kOptimizer) throw Error("Megatron-LM has no ZeRO stage above 1 beside a pipeline");
}

/// What the launch leaves to its user. Rows of the tables of words are divided over tensor ranks, after as many as are
/// missing have been added.
std::string notes_of(const Network& network, std::int64_t tensor) {
  const std::int64_t rows = network.layers.front().vocabulary;
  const std::string rest = "add the tokenizer, the data, the optimizer's rates and the checkpoints";
  if (rows % tensor == 0) return rest;
  return rest + "; Megatron-LM pads the vocabulary of " + std::to_string(rows) + " to " +
         std::to_string((rows / tensor + 1) * tensor) + ", a multiple of the tensor ranks";
}

/// 'Et|(tt|)*3,tL': stages in order of the model.
std::string layout_of(const std::vector<LayerCounts>& stages) {
  std::vector<std::string> letters;
  for (const LayerCounts& stage : stages) {
    letters.push_back(std::string(stage.embedding ? "E" : "") +
                      (stage.decoders > 4 ? "t*" + std::to_string(stage.decoders) : std::string(stage.decoders, 't')) +
                      (stage.head ? "L" : ""));
  }
  std::string text;
  for (std::size_t at = 0; at < letters.size();) {
    std::size_t end = at;
    while (end + 1 < letters.size() && letters[end] == letters[at]) ++end;  // the last stage has no bar behind it
    if (end - at > 1) {
      text += (text.empty() ? "(" : ",(") + letters[at] + "|)*" + std::to_string(end - at) + ",";
      at = end;
    } else {
      text += letters[at] + (at + 1 < letters.size() ? "|" : "");
      ++at;
    }
  }
  return text;
}

void add_pipeline(const PlanQuestion& question, const SimulatedPlan& plan, OptionLines& out) {
  const MegatronPlan pipeline = megatron_plan(plan.schedule);
  const std::vector<LayerCounts> stages = layer_counts(question.network, plan.score.plan.partition);
  if (stages.empty()) throw Error("Megatron-LM cuts at whole decoder layers only");
  out.value("pipeline-model-parallel-size", pipeline.pipeline_size);
  if (pipeline.chunks > 1) out.value("microbatch-group-size-per-virtual-pipeline-stage", pipeline.group);
  if (stages.size() > 1) out.value("pipeline-model-parallel-layout", "'" + layout_of(stages) + "'");
}

}  // namespace

std::string megatron_launch(const PlanQuestion& question, const SimulatedPlan& plan, const std::string& network) {
  const Parallelism& job = plan.score.plan.parallelism;
  const std::int64_t devices = plan.score.plan.num_devices();
  const std::int64_t per_node = std::min<std::int64_t>(question.cluster.devices_per_node, devices);
  if (devices % per_node != 0) throw Error("its devices do not fill whole nodes");
  OptionLines out;
  add_pipeline(question, plan, out);
  add_ranks(question, plan.score.plan, out);
  add_precision(job, out);
  add_kernels(question.network, job, out);
  return "torchrun --nproc-per-node " + std::to_string(per_node) + " --nnodes " + std::to_string(devices / per_node) +
         " pretrain_gpt.py" + network + out.text();
}

PlanCommand megatron_command(const PlanQuestion& question, const SimulatedPlan& plan) {
  const PipelinePlan& choice = plan.score.plan;
  try {
    OptionLines network;
    add_network(question, choice.parallelism, network);
    const std::string text = megatron_launch(question, plan, network.text());
    LaunchJob launch = read_launch(text, "Megatron-LM");
    place_launch(launch, choice.num_devices());
    check_launch(launch, question, plan);
    return {.text = text, .note = notes_of(question.network, choice.parallelism.tensor)};
  } catch (const Error& error) {
    return {.refused = error.what()};
  }
}

}  // namespace plumb
