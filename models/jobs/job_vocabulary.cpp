#include "models/jobs/job_layers.hpp"

namespace plumb {
namespace {

/// Bytes that the loss reads and writes for one logit. Forward: converted to 32 bits, largest, difference, exponent,
/// sum, quotient. Backward: times the gradient, converted back. (Megatron's vocabulary-parallel cross-entropy.)
constexpr double kLossBytesForward = (2 + 4) + 4 + (4 + 4) + (4 + 4) + 4 + (4 + 4);
constexpr double kLossBytesBackward = (4 + 4) + (4 + 2);
/// One kernel for all of it, in the precision of the logits (Transformer Engine's cross_entropy): largest and sum in
/// one reading, then the gradient over the logits; backward: times the gradient of the loss.
constexpr double kFusedLossForward = 2 + (2 + 2);
constexpr double kFusedLossBackward = 2 + 2;

void add_loss(LayerKernels& kernels, const JobShape& shape, double logits) {
  const bool fused = shape.parallelism.fused_loss;
  kernels.forward.memory((fused ? kFusedLossForward : kLossBytesForward) * logits, fused ? 2 : 8, Movement::kLoss);
  kernels.input_grad.memory((fused ? kFusedLossBackward : kLossBytesBackward) * logits, fused ? 1 : 3, Movement::kLoss);
}

}  // namespace

/// Returns the bytes of the gradient of a table: PyTorch makes the whole of it for every microbatch
/// (`embedding_dense_backward` fills it with zeros), and then it is added to what earlier microbatches left, since no
/// product makes it.
double table_gradient_bytes(const LayerSpec& layer, const JobShape& shape) {
  const auto rows = static_cast<double>((layer.vocabulary + shape.parallelism.tensor - 1) / shape.parallelism.tensor);
  const auto number = static_cast<double>(shape.number_bytes());
  const auto added = static_cast<double>(2 * shape.parallelism.precision.gradient_bytes);
  return rows * static_cast<double>(layer.width) * (number + number + added);
}

/// Returns a table whose rows are divided over tensor ranks; positions are added, and the sum goes through dropout.
LayerKernels embedding_kernels(const LayerSpec& layer, const JobShape& shape) {
  const double values = shape.bytes(shape.tokens(), layer.width);
  LayerKernels kernels;
  kernels.forward.memory(2 * values, 3);
  if (shape.parallelism.tensor > 1) {
    const bool scattered = shape.parallelism.sequence_parallel;
    kernels.forward.collective(scattered ? CollectiveOp::kReduceScatter : CollectiveOp::kAllReduce, GroupAxis::kTensor,
                               values);
  }
  if (layer.positions > 0) kernels.forward.memory(3 * values, 2);
  if (shape.parallelism.adapter_rank > 0) return kernels;
  kernels.weight_grad.memory(values * 3, 4);
  kernels.weight_grad.memory(table_gradient_bytes(layer, shape), 2);
  return kernels;
}

/// Logits divided over tensor ranks, loss in 32 bits without gathering them.
LayerKernels head_kernels(const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t tensor = shape.parallelism.tensor;
  const std::int64_t tokens = shape.tokens();
  const bool exact = !shape.parallelism.padded_vocabulary;
  const std::int64_t rows = exact ? layer.vocabulary / tensor : (layer.vocabulary + tensor - 1) / tensor;
  const double logits = static_cast<double>(tokens) * static_cast<double>(rows);
  LayerKernels kernels;
  TensorBlock block(kernels, shape, layer.width);
  block.enter();
  add_linear(kernels, shape,
             {.tokens = tokens,
              .inputs = layer.width,
              .outputs = rows,
              .wide = !shape.parallelism.formatted_head,
              .exact = exact});
  add_loss(kernels, shape, logits);
  if (tensor > 1) {
    const int reductions = shape.parallelism.fused_loss ? 1 : 3;
    for (int reduction = 0; reduction < reductions; ++reduction) {
      kernels.forward.collective(CollectiveOp::kAllReduce, GroupAxis::kTensor, 4.0 * static_cast<double>(tokens));
    }
  }
  block.leave_backward();
  return kernels;
}

/// Returns two norms, the product that joins what comes in with the embedding of the next token, and the head once
/// more. The joining product is whole on every tensor rank's part of the sequence.
LayerKernels further_token_kernels(const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t tokens = shape.norm_tokens();
  const double values = shape.bytes(tokens, layer.width);
  LayerKernels kernels;
  kernels.forward.memory(4 * values, 2, Movement::kNorm);
  kernels.forward.memory(4 * values, 1);  // side by side
  kernels.input_grad.memory(8 * values, 4, Movement::kNorm);
  kernels.input_grad.memory(4 * values, 1);
  add_linear(kernels, shape, {tokens, 2 * layer.width, layer.width});
  kernels.append(head_kernels(layer, shape));
  return kernels;
}

}  // namespace plumb
