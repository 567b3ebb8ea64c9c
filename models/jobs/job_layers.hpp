#pragma once

#include "models/jobs/job_shape.hpp"
#include "models/jobs/kernels.hpp"

/// Kernels by kind of layer. Internal to this folder.
namespace plumb {

LayerKernels embedding_kernels(const LayerSpec& layer, const JobShape& shape);
LayerKernels attention_kernels(const LayerSpec& layer, const JobShape& shape);
LayerKernels latent_attention_kernels(const LayerSpec& layer, const JobShape& shape);
LayerKernels mlp_kernels(const LayerSpec& layer, const JobShape& shape);
LayerKernels moe_kernels(const LayerSpec& layer, const JobShape& shape);
LayerKernels head_kernels(const LayerSpec& layer, const JobShape& shape);

/// Sizes of `copies` products of one kind.
struct Product {
  std::int64_t tokens = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t copies = 1;
};

/// y = x W, W of `inputs` x `outputs` (already divided): one product per pass; that of W adds to the gradients where it
/// is made (Megatron's gradient accumulation fusion), so the sum costs the traffic of its epilogue and no kernel.
inline void add_linear(LayerKernels& kernels, const JobShape& shape, const Product& product) {
  const auto [tokens, inputs, outputs, copies] = product;
  kernels.forward.product({.m = tokens, .n = outputs, .k = inputs, .count = copies});
  kernels.input_grad.product(
      {.m = tokens, .n = inputs, .k = outputs, .count = copies, .pass = ProductPass::kInputGrad});
  kernels.weight_grad.product(
      {.m = outputs, .n = inputs, .k = tokens, .count = copies, .pass = ProductPass::kWeightGrad},
      shape.parallelism.precision.gradient_bytes);
}

/// Bytes of biases' work: with `added`, the bias is a kernel of its own behind the product (where no other kernel takes
/// it in); its gradient is the sum of the output's gradient over tokens.
inline void add_bias(LayerKernels& kernels, const JobShape& shape, std::int64_t tokens, std::int64_t outputs,
                     bool added) {
  const double values = shape.bytes(tokens, outputs);
  if (added) kernels.forward.memory(2 * values);
  kernels.input_grad.memory(values);
}

/// The collectives around a block whose weights are divided over tensor ranks (Megatron's f and g): the input is
/// gathered or its gradient summed, the output is summed or scattered.
class TensorBlock {
 public:
  TensorBlock(LayerKernels& kernels, const JobShape& shape, std::int64_t width)
      : kernels_(kernels), shape_(shape), values_(shape.bytes(shape.tokens(), width)) {}

  void enter() {
    if (shape_.parallelism.sequence_parallel) add(kernels_.forward, CollectiveOp::kAllGather);
  }
  void leave() {
    add(kernels_.forward,
        shape_.parallelism.sequence_parallel ? CollectiveOp::kReduceScatter : CollectiveOp::kAllReduce);
  }
  /// In the backward, what left comes in first.
  void enter_backward() {
    if (shape_.parallelism.sequence_parallel) add(kernels_.input_grad, CollectiveOp::kAllGather);
  }
  void leave_backward() {
    const bool scattered = shape_.parallelism.sequence_parallel;
    add(kernels_.input_grad, scattered ? CollectiveOp::kReduceScatter : CollectiveOp::kAllReduce,
        shape_.parallelism.overlap_tensor);
    // W needs the whole input again.
    if (scattered) add(kernels_.weight_grad, CollectiveOp::kAllGather, true);
  }

 private:
  void add(PassKernels& pass, CollectiveOp op, bool hidden = false) const {
    if (shape_.parallelism.tensor > 1) pass.collective(op, GroupAxis::kTensor, values_, hidden);
  }

  LayerKernels& kernels_;
  const JobShape& shape_;
  double values_;
};

}  // namespace plumb
