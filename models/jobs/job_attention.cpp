#include <algorithm>

#include "models/jobs/job_layers.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {
namespace {

/// Attention of one head: widths of queries and keys, and of values.
struct HeadWidths {
  std::int64_t key = 0;
  std::int64_t value = 0;
};

/// Bytes that softmax and its dropout read and write for one score. Megatron's fused softmax for causal masks reads
/// what the mask leaves and writes all, zeros elsewhere: forward the scores, backward gradient and output.
constexpr double kSoftmaxRead = 2;
constexpr double kSoftmaxReadBackward = 2 + 2;
constexpr double kSoftmaxWritten = 2;
constexpr double kDropoutBytes = 2 + 2 + 1;  // a byte is kept
/// The fused softmax wants groups of heads (Megatron's kernel: 4 matrices of scores at a time); elsewhere scores are
/// widened to 32 bits, scaled, masked, normalised and narrowed by kernels of their own.
constexpr std::int64_t kFusedHeads = 4;
constexpr double kUnfusedBytes = (2 + 4) + (4 + 4) + (4 + 4) + (4 + 2);
constexpr std::int32_t kUnfusedLaunches = 9;

/// A fused backward does 5 products for the forward's 2.
constexpr double kFusedBackward = 2.5;

/// Returns the part of the scores that the mask leaves: all, the lower half, a band below the diagonal (of a window, or
/// of as many keys as an indexer leaves), or the lower halves of parts.
double seen_share(const LayerSpec& layer, std::int64_t sequence) {
  if (!layer.causal) return 1;
  const auto all = static_cast<double>(sequence);
  if (layer.chunk > 0 && layer.chunk < sequence) {
    const auto rest = static_cast<double>(sequence % layer.chunk);
    return ((all - rest) * static_cast<double>(layer.chunk) + rest * rest) / 2 / (all * all);
  }
  const auto window = static_cast<double>(seen_tokens(layer, sequence));
  return (window * (all - window) + window * window / 2) / (all * all);
}

/// Scores of whole samples: unfused products over all heads, or one kernel that never writes them.
void add_core(LayerKernels& kernels, const LayerSpec& layer, const JobShape& shape, HeadWidths widths) {
  const Parallelism& job = shape.parallelism;
  const std::int64_t parts = job.context_by_heads ? job.context : 1;
  const std::int64_t heads = shape.samples * layer.heads / job.tensor / parts;
  const std::int64_t rows = shape.sequence * parts / job.context;
  const std::int64_t columns = shape.sequence;
  const double products = 2.0 * static_cast<double>(heads * rows * columns) *
                          static_cast<double>(widths.key + widths.value) * seen_share(layer, columns);
  const double operands = shape.bytes(shape.tokens(), layer.heads / job.tensor * (2 * widths.key + 2 * widths.value));
  if (job.flash_attention) {
    AttentionShape fused{
        .rows = rows, .columns = columns, .heads = heads, .key_width = widths.key, .value_width = widths.value};
    kernels.forward.attention(fused, products, operands, 1);
    fused.pass = ProductPass::kInputGrad;
    kernels.input_grad.attention(fused, kFusedBackward * products, 2 * operands, 3);
    return;
  }
  const double score = shape.scores(layer);
  PassKernels inner;
  inner.gemm(rows, columns, widths.key, heads);
  const double read = layer.causal && layer.window == 0 ? 0.5 : 1;
  inner.memory((kSoftmaxRead * read + kSoftmaxWritten) * score, 1, Movement::kSoftmax);
  inner.memory(kDropoutBytes * score, 1, shape.masks(layer) ? Movement::kDropout : Movement::kSoftmax);
  if (heads % kFusedHeads != 0) {
    inner.memory(kUnfusedBytes * score, kUnfusedLaunches, Movement::kSoftmax);
    kernels.input_grad.memory(kUnfusedBytes * score, kUnfusedLaunches, Movement::kSoftmax);
  }
  inner.gemm(rows, widths.value, columns, heads);
  inner.memory(operands, 3);  // queries, keys and values side by side, and back
  kernels.forward.append(inner);
  if (job.recompute == ActivationRecompute::kSelective) kernels.again.append(inner);
  kernels.input_grad.gemm(rows, columns, widths.value, heads);
  kernels.input_grad.gemm(columns, widths.value, rows, heads);
  kernels.input_grad.memory((kSoftmaxReadBackward * read + kSoftmaxWritten + kDropoutBytes) * score, 2,
                            Movement::kSoftmax);
  kernels.input_grad.gemm(rows, widths.key, columns, heads);
  kernels.input_grad.gemm(columns, widths.key, rows, heads);
  kernels.input_grad.memory(operands, 4);
}

/// Queries, keys, values and what comes out of them, each in an exchange of its own that the kernels wait for, put in
/// order before and after it. (Transformer Engine's a2a; since 2.8 the backward does not exchange the output again.)
void exchange_heads(LayerKernels& kernels, const JobShape& shape, std::int64_t queries, std::int64_t keys_values) {
  for (const std::int64_t features : {queries, keys_values / 2, keys_values / 2, queries}) {
    const double bytes = shape.bytes(shape.tokens(), features);
    for (PassKernels* pass : {&kernels.forward, &kernels.input_grad}) {
      pass->collective(CollectiveOp::kAllToAll, GroupAxis::kContext, bytes);
      pass->memory(2 * 2 * bytes, 2);
    }
  }
}

/// Keys and values of all ranks pass by each rank (ring attention), beside its kernels.
void add_context(LayerKernels& kernels, const JobShape& shape, std::int64_t queries, std::int64_t keys_values) {
  if (shape.parallelism.context < 2) return;
  if (shape.parallelism.context_by_heads) {
    exchange_heads(kernels, shape, queries, keys_values);
    return;
  }
  const double bytes = shape.bytes(shape.tokens() * shape.parallelism.context, keys_values);
  kernels.forward.collective(CollectiveOp::kAllGather, GroupAxis::kContext, bytes, true);
  kernels.input_grad.collective(CollectiveOp::kAllGather, GroupAxis::kContext, bytes, true);
  kernels.input_grad.collective(CollectiveOp::kReduceScatter, GroupAxis::kContext, bytes, true);
}

}  // namespace

LayerKernels attention_kernels(const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t tensor = shape.parallelism.tensor;
  const std::int64_t head = head_width(layer);
  const std::int64_t inner = attended_width(layer) / tensor;
  const std::int64_t qkv = qkv_width(layer) / tensor;
  const std::int64_t columns = attention_columns(layer) / tensor;
  const std::int64_t tokens = shape.tokens();
  LayerKernels kernels;
  TensorBlock block(kernels, shape, layer.width);
  LayerKernels in;
  LayerKernels out;
  add_linear(in, shape,
             {.tokens = tokens,
              .inputs = layer.width,
              .outputs = columns,
              .input_cast = true,
              .divided = Divided::kOutputs,
              .adapted = LoraTargets::kQkv});
  add_linear(out, shape,
             {.tokens = tokens,
              .inputs = inner,
              .outputs = layer.width,
              .divided = Divided::kInputs,
              .adapted = LoraTargets::kAll});
  if (layer.bias) {
    add_bias(in, shape, tokens, qkv, true);
    add_bias(out, shape, shape.norm_tokens(), layer.width, false);  // added with dropout and the residual
  }
  block.enter();
  kernels.forward.append(in.forward);
  if (layer.rotary) kernels.forward.memory(2 * shape.bytes(tokens, qkv), 2);
  // Queries that share keys lie between them, so they are copied to their own places, and gradients back.
  const bool apart = layer.kv_heads > 0 && layer.kv_heads != layer.heads;
  if (apart) kernels.forward.memory(2 * shape.bytes(tokens, qkv), 3);
  const bool norms = layer.head_norm || layer.whole_norm;
  const double normed = norms ? shape.bytes(tokens, queries_and_keys(layer) / tensor) : 0;
  if (norms) kernels.forward.memory(2 * normed, 2, Movement::kNorm);
  block.enter_backward();
  kernels.input_grad.append(out.input_grad);
  const double gate = layer.gated ? shape.bytes(tokens, inner) : 0;
  if (layer.gated) kernels.input_grad.memory(5 * gate, 2);
  add_core(kernels, layer, shape, {head, inner * tensor / layer.heads});
  add_context(kernels, shape, queries_width(layer) / tensor, qkv - queries_width(layer) / tensor);
  if (layer.gated) kernels.forward.memory(3 * gate, 2);
  if (layer.rotary) kernels.input_grad.memory(2 * shape.bytes(tokens, qkv), 2);
  if (apart) kernels.input_grad.memory(2 * shape.bytes(tokens, qkv), 1);
  if (norms) kernels.input_grad.memory(4 * normed, 4, Movement::kNorm);
  kernels.forward.append(out.forward);
  block.leave();
  kernels.input_grad.append(in.input_grad);
  block.leave_backward();
  kernels.weight_grad.append(out.weight_grad);
  kernels.weight_grad.append(in.weight_grad);
  return kernels;
}

namespace {

/// The indexer of sparse attention, whole on every tensor rank: its products, its scores of every token with all tokens
/// before it, and the choice of keys by them, which reads the scores of all heads' sum in 32 bits.
void add_indexer_kernels(LayerKernels& kernels, const LayerSpec& layer, const JobShape& shape) {
  if (layer.index_heads == 0) return;
  const std::int64_t tokens = shape.tokens();
  const std::int64_t queries = layer.index_heads * layer.index_width;
  add_linear(kernels, shape,
             {.tokens = tokens, .inputs = layer.query_rank > 0 ? layer.query_rank : layer.width, .outputs = queries});
  add_linear(kernels, shape,
             {.tokens = tokens, .inputs = layer.width, .outputs = layer.index_width + layer.index_heads});
  const double pairs = static_cast<double>(tokens) * static_cast<double>(shape.sequence) / 2;
  const double products = 2 * pairs * static_cast<double>(queries);
  AttentionShape scores{.rows = shape.sequence / shape.parallelism.context,
                        .columns = shape.sequence,
                        .heads = shape.samples * layer.index_heads,
                        .key_width = layer.index_width,
                        .value_width = layer.index_width};
  constexpr double kScoreBytes = 4;
  kernels.forward.attention(scores, products, 2 * shape.bytes(tokens, queries), 1);
  kernels.forward.memory(3 * kScoreBytes * pairs, 3);
  scores.pass = ProductPass::kInputGrad;
  kernels.input_grad.attention(scores, 3 * products, 4 * shape.bytes(tokens, queries), 3);
  kernels.input_grad.memory(3 * kScoreBytes * pairs, 3);
}

}  // namespace

LayerKernels latent_attention_kernels(const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t tensor = shape.parallelism.tensor;
  const std::int64_t tokens = shape.tokens();
  const std::int64_t key = layer.head_width + layer.rotary_width;
  const std::int64_t queries = layer.heads * key / tensor;
  const std::int64_t keys_values = layer.heads * (layer.head_width + layer.value_width) / tensor;
  const std::int64_t values = layer.heads * layer.value_width / tensor;
  const std::int64_t latent = layer.key_rank + layer.rotary_width;
  LayerKernels kernels;
  TensorBlock block(kernels, shape, layer.width);
  LayerKernels in;
  LayerKernels out;
  if (layer.query_rank > 0) add_linear(in, shape, {tokens, layer.width, layer.query_rank});
  LayerKernels up;  // made of the latents
  const std::int64_t query_inputs = layer.query_rank > 0 ? layer.query_rank : layer.width;
  add_linear(
      up, shape,
      {.tokens = tokens, .inputs = query_inputs, .outputs = queries, .input_cast = true, .adapted = LoraTargets::kQkv});
  add_linear(up, shape,
             {.tokens = tokens,
              .inputs = layer.key_rank,
              .outputs = keys_values,
              .input_cast = true,
              .adapted = LoraTargets::kQkv});
  in.append(up);
  add_linear(in, shape, {tokens, layer.width, latent});
  add_linear(out, shape, {.tokens = tokens, .inputs = values, .outputs = layer.width, .divided = Divided::kInputs});
  const double moved = 2 * shape.bytes(tokens, layer.query_rank + latent) + 2 * shape.bytes(tokens, 2 * queries);
  block.enter();
  kernels.forward.append(in.forward);
  if (shape.parallelism.modules.has(RecomputeModule::kMlaUpProj)) {
    kernels.again.append(up.forward);
    kernels.again.memory(moved / 2, 3);
  }
  kernels.forward.memory(moved, 6);  // norms of the latents, rotary parts, keys put together
  add_indexer_kernels(kernels, layer, shape);
  block.enter_backward();
  kernels.input_grad.append(out.input_grad);
  add_core(kernels, layer, shape, {key, layer.value_width});
  add_context(kernels, shape, queries, keys_values);
  kernels.forward.append(out.forward);
  block.leave();
  kernels.input_grad.memory(1.5 * moved, 8);
  kernels.input_grad.append(in.input_grad);
  block.leave_backward();
  kernels.weight_grad.append(out.weight_grad);
  kernels.weight_grad.append(in.weight_grad);
  return kernels;
}

}  // namespace plumb
