#include "tools/measured_steps/measured_step.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "tools/measured_steps/csv_table.hpp"

namespace plumb {
namespace {

/// FNV-1a: the same on every machine.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  return hash;
}

bool mentions(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Returns the seconds of a step: as logged, or from the throughput.
double step_seconds(const CsvTable& table, std::size_t at, const MeasuredStep& row) {
  const double logged = table.number(at, "measured_step_time_s");
  if (logged > 0) return logged;
  const double batch = table.number(at, "global_batch");
  const double samples = table.number(at, "samples_per_s");
  if (samples > 0) return batch / samples;
  const double tokens = table.number(at, "tokens_per_s_per_gpu");
  return tokens > 0 ? batch * static_cast<double>(row.sequence) / (tokens * static_cast<double>(row.num_gpus)) : 0;
}

/// What nvidia-smi shows of a whole device, in thousands of MiB.
constexpr std::string_view kDriverUnit = "GB (nvidia-smi)";

/// Papers that print GB mean 10^9 bytes here: the growth of the memory per microbatch of the zero-bubble rows says so.
double memory_gib(const CsvTable& table, std::size_t at) {
  constexpr double kThousandMib = 1000.0 / 1024;
  const double printed = table.number(at, "measured_memory_gib");
  const std::string& unit = table.cell(at, "memory_unit_published");
  if (unit == kDriverUnit) return printed * kThousandMib;
  return unit == "GB" ? printed * 1e9 / kBytesPerGib : printed;
}

/// Returns the memory from its column, or from the note "real max reserved 70.88 GiB".
double reserved_gib(const CsvTable& table, std::size_t at, const std::string& note) {
  constexpr std::string_view kColumn = "max_reserved_memory_mib";
  constexpr std::string_view kNote = "max reserved ";
  constexpr double kMibPerGib = 1024;
  if (table.has(kColumn)) return table.number(at, kColumn) / kMibPerGib;
  const std::size_t found = note.find(kNote);
  return found == std::string::npos ? 0 : std::strtod(note.c_str() + found + kNote.size(), nullptr);
}

MeasuredStep read_row(const CsvTable& table, std::size_t at, const std::string& data) {
  MeasuredStep row;
  const auto whole = [&](std::string_view column, std::int64_t otherwise = 0) {
    return table.whole(at, column, otherwise);
  };
  row.id = table.cell(at, "row_id");
  row.data = data;
  row.source = table.cell(at, "source");
  row.model = table.cell(at, "model");
  row.layers = whole("layers");
  row.hidden = whole("hidden");
  row.ffn = whole("ffn");
  row.heads = whole("heads");
  row.kv_heads = whole("kv_heads");
  if (table.has("head_width")) row.head_width = whole("head_width");
  row.sequence = whole("seq");
  row.vocabulary = whole("vocab");
  row.experts = whole("experts");
  row.experts_per_token = whole("moe_topk");
  row.expert_hidden = whole("moe_ffn");
  row.gpu = table.cell(at, "gpu");
  row.num_gpus = whole("num_gpus");
  row.tensor = whole("tp", 1);
  row.pipeline = whole("pp", 1);
  row.chunks = whole("vp", 1);
  row.data_degree = whole("dp", 0);
  row.expert = whole("ep", 1);
  if (table.has("etp")) row.expert_tensor = whole("etp");
  row.context = whole("cp", 1);
  row.microbatch_size = whole("microbatch_size");
  row.num_microbatches = whole("num_microbatches");
  row.schedule = table.cell(at, "schedule");
  row.recompute = table.cell(at, "recompute");
  row.precision = table.cell(at, "precision");
  row.step_s = step_seconds(table, at, row);
  row.memory_gib = memory_gib(table, at);
  row.of_driver = table.cell(at, "memory_unit_published") == kDriverUnit;
  row.published_error = table.number(at, "published_error_time_pct", std::numeric_limits<double>::quiet_NaN()) / 100;
  row.note = table.cell(at, "note");
  row.reserved_gib = reserved_gib(table, at, row.note);
  if (mentions(row.id, "vocabpar-rerun")) std::swap(row.memory_gib, row.reserved_gib);  // what the allocator held
  constexpr std::string_view kGroup = "microbatch-group-size-per-virtual-pipeline-stage=";
  const std::size_t found = row.note.find(kGroup);
  if (found != std::string::npos) row.group = std::strtoll(row.note.c_str() + found + kGroup.size(), nullptr, 10);
  for (const std::string& column : table.header()) row.cells.emplace(column, table.cell(at, column));
  return row;
}

bool is_gated(const MeasuredStep& row) {
  if (row.data == "megatron-lm-ci") return mentions(row.note, "swiglu");
  return row.experts > 0 || (row.kv_heads != 0 && row.kv_heads != row.heads);
}

LayerSpec attention_of(const MeasuredStep& row, const std::string& name) {
  LayerSpec layer;
  layer.name = name;
  layer.width = row.hidden;
  layer.heads = row.heads;
  if (mentions(row.model, "DeepSeek")) {
    layer.kind = LayerKind::kLatentAttention;
    layer.query_rank = 1536;
    layer.key_rank = 512;
    layer.head_width = 128;
    layer.rotary_width = 64;
    layer.value_width = 128;
  } else {
    layer.kind = LayerKind::kAttention;
    layer.head_width = row.head_width;
    layer.kv_heads = row.kv_heads == row.heads ? 0 : row.kv_heads;
    layer.rotary = is_gated(row);
    layer.bias = !layer.rotary;
  }
  return layer;
}

LayerSpec mlp_of(const MeasuredStep& row, const std::string& name, bool dense) {
  LayerSpec layer;
  layer.name = name;
  layer.kind = dense ? LayerKind::kMlp : LayerKind::kMoe;
  layer.width = row.hidden;
  constexpr std::int64_t kUsualWidening = 4;
  layer.hidden = !dense ? row.expert_hidden : row.ffn > 0 ? row.ffn : kUsualWidening * row.hidden;
  layer.gated = is_gated(row);
  layer.bias = !layer.gated;
  if (!dense) {
    layer.experts = row.experts;
    layer.experts_per_token = row.experts_per_token;
    layer.shared_experts = mentions(row.model, "DeepSeek-V2") ? 2 : mentions(row.model, "DeepSeek") ? 1 : 0;
  }
  return layer;
}

LayerSpec norm_of(const MeasuredStep& row, const std::string& name) {
  LayerSpec layer;
  layer.kind = is_gated(row) ? LayerKind::kRmsNorm : LayerKind::kLayerNorm;
  layer.name = name;
  layer.width = row.hidden;
  return layer;
}

LayerSpec residual_of(LayerSpec norm, LayerSpec body, const std::string& name) {
  LayerSpec layer;
  layer.kind = LayerKind::kResidual;
  layer.name = name;
  layer.body = {std::move(norm), std::move(body)};
  return layer;
}

std::string configuration_refusal(const MeasuredStep& row, bool network_known) {
  constexpr std::int64_t kMostLayers = 4096;
  if (row.layers > kMostLayers) return "more than " + std::to_string(kMostLayers) + " layers";
  const bool sized = row.layers > 0 && row.hidden > 0 && row.heads > 0;
  if (row.sequence == 0 || (!sized && !network_known)) return "sizes of the model are not stated";
  if (!network_known && row.head_width == 0 && row.hidden % (2 * row.heads) != 0) {
    return "heads of another width than the model's";
  }
  if (row.microbatch_size == 0 || row.num_microbatches == 0 || row.data_degree == 0) return "batch is not stated";
  return {};
}

}  // namespace

bool MeasuredStep::fits_constants() const { return hash_of(id) % 2 == 0; }

std::vector<MeasuredStep> measured_steps(std::string_view text, const std::string& file_name) {
  const CsvTable table(text, file_name);
  const std::string data = file_name.substr(0, file_name.rfind('.'));
  std::vector<MeasuredStep> rows;
  for (std::size_t at = 0; at < table.size(); ++at) rows.push_back(read_row(table, at, data));
  return rows;
}

std::string refusal(const MeasuredStep& row, bool network_known) {
  if (row.id.find("-t4-layer") != std::string::npos && row.data == "megatron-papers") {
    return "time of one layer, not of a step";
  }
  if (row.data == "megatron-lm-ci") return "deterministic tiny models: regression references, not benchmarks";
  if (row.data == "primus") return "batch, sequence or layers are not stated";
  if (row.step_s <= 0) return "no step time or throughput is stated";
  const std::string why = configuration_refusal(row, network_known);
  if (!why.empty()) return why;
  if (row.note.find("count is doubtful") != std::string::npos) return "the printed microbatch count is doubtful";
  return {};
}

std::string memory_refusal(const MeasuredStep& row) {
  if (row.memory_gib <= 0) return "no memory is stated";
  if (row.data == "primus") return "batch, sequence or layers are not stated";
  if (row.data == "megatron-lm-ci") {
    if (row.model != "gpt" || mentions(row.id, "grpo")) return "not the training of a GPT";
    if (row.experts > 0 || mentions(row.note, "latent") || mentions(row.id, "moe") || mentions(row.id, "experts")) {
      return "tiny models with experts";
    }
    if (mentions(row.note, "fp8")) return "low precision is not modelled";
  }
  return configuration_refusal(row, false);
}

Network step_network(const MeasuredStep& row) {
  Network network;
  network.name = row.model;
  network.sequence = row.sequence;
  network.samples = row.microbatch_size;
  // The zero-bubble paper's models are of 28.3 and 14.6 billion parameters with 32000 words, not with GPT-2's 50257.
  const std::int64_t unstated = row.data == "zero-bubble-paper" ? 32000 : 50257;
  const std::int64_t vocabulary = row.vocabulary > 0 ? row.vocabulary : unstated;
  LayerSpec embedding;
  embedding.kind = LayerKind::kEmbedding;
  embedding.name = "embedding";
  embedding.width = row.hidden;
  embedding.vocabulary = vocabulary;
  embedding.positions = is_gated(row) ? 0 : row.sequence;
  network.layers.push_back(embedding);
  for (std::int64_t k = 0; k < row.layers; ++k) {
    const std::string n = std::to_string(k);
    const bool dense = row.experts == 0 || (k == 0 && mentions(row.model, "DeepSeek-V2")) ||
                       (k < 3 && mentions(row.model, "DeepSeekV3") && row.layers > 4);
    network.layers.push_back(residual_of(norm_of(row, "n" + n), attention_of(row, "a" + n), "ra" + n));
    network.layers.push_back(residual_of(norm_of(row, "o" + n), mlp_of(row, "m" + n, dense), "rm" + n));
  }
  network.layers.push_back(norm_of(row, "norm"));
  LayerSpec head;
  head.kind = LayerKind::kHead;
  head.name = "head";
  head.width = row.hidden;
  head.vocabulary = vocabulary;
  head.tied = !is_gated(row) && row.data != "vocabulary-parallel" && row.data != "zero-bubble-paper" &&
              !mentions(row.note, "untie-embeddings");
  network.layers.push_back(head);
  return network;
}

Parallelism step_parallelism(const MeasuredStep& row) {
  Parallelism job;
  job.tensor = row.tensor;
  job.context = row.context;
  job.expert = row.expert;
  job.data = row.data_degree;
  job.microbatch_size = row.microbatch_size;
  job.sequence_parallel = row.tensor > 1 && (mentions(row.recompute, "sequence") ||
                                             mentions(row.note, "sequence-parallel") || is_gated(row));
  if (mentions(row.recompute, "full")) job.recompute = ActivationRecompute::kFull;
  if (mentions(row.recompute, "selective")) job.recompute = ActivationRecompute::kSelective;
  // The published memory of the zero-bubble runs holds scores, that of the vocabulary-parallel ones does not.
  job.flash_attention = row.data != "vtrain" && row.data != "megatron-papers" && row.data != "zero-bubble-paper" &&
                        !(row.data == "megatron-lm-ci" && row.context == 1 && row.hidden < 4096);
  // Megatron-DeepSpeed, and Megatron with --fp16, reduce 16-bit gradients; Megatron's main gradients have 32 bits.
  const bool half = row.data == "vtrain" || row.data == "zero-bubble-paper" || row.data == "vocabulary-parallel";
  if (half) job.precision.gradient_bytes = 2;
  // Distributed optimizers are the default of the newer recipes.
  if (is_gated(row) && job.replicas() > 1) job.zero = ZeroStage::kOptimizer;
  if (mentions(row.note, "use-distributed-optimizer")) job.zero = ZeroStage::kOptimizer;
  if (row.data == "megatron-lm-ci") job.dropout = row.context == 1;
  if (row.data == "simumax") {
    job.fused_loss = true;  // the names of its B200 rows end in _cef: cross-entropy fusion
    job.weight_gradients = WeightGradients::kPlaceholders;
  }
  job.expert_tensor = row.expert_tensor;
  return job;
}

}  // namespace plumb
