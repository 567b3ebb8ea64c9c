#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "models/launches/read_launch.hpp"
#include "models/stages/whole_layers.hpp"
#include "schedules/formats/megatron.hpp"
#include "tools/plans/launch_check.hpp"
#include "tools/plans/plan_commands.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
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

void take_part(const Network& network, const LayerSpec& part, DecoderFacts& facts) {
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

DecoderFacts decoder_facts(const Network& network) {
  DecoderFacts facts;
  std::size_t blocks = 0;
  for (const LayerSpec& layer : network.layers) {
    if (layer.kind != LayerKind::kResidual) continue;
    ++blocks;
    if (layer.body.size() != 2 || !layer.shortcut.empty())
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
    out.value("moe-shared-expert-intermediate-size", experts.shared_experts * experts.hidden);
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
