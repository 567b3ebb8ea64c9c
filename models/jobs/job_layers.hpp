#pragma once

#include "models/jobs/job_shape.hpp"
#include "models/kernels/kernels.hpp"

/// Kernels by kind of layer. Internal to this folder.
namespace plumb {

LayerKernels embedding_kernels(const LayerSpec& layer, const JobShape& shape);
LayerKernels attention_kernels(const LayerSpec& layer, const JobShape& shape);
LayerKernels latent_attention_kernels(const LayerSpec& layer, const JobShape& shape);
LayerKernels mlp_kernels(const LayerSpec& layer, const JobShape& shape);
LayerKernels moe_kernels(const LayerSpec& layer, const JobShape& shape);
LayerKernels mamba_kernels(const LayerSpec& layer, const JobShape& shape);
LayerKernels further_token_kernels(const LayerSpec& layer, const JobShape& shape);
LayerKernels head_kernels(const LayerSpec& layer, const JobShape& shape);

/// Which side of a weight tensor ranks divide. With sequence parallelism they gather the input of a product whose
/// outputs are divided, and the gradient of what comes out of one whose inputs are.
enum class Divided : std::uint8_t { kNeither, kOutputs, kInputs };

/// Sizes of `copies` products of one kind; each copy is a kernel of its own (Transformer Engine's grouped products).
struct Product {
  std::int64_t tokens = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t copies = 1;
  bool wide = false;           ///< stays in 16 bits, whatever the job's format: routers, the head
  bool input_cast = false;     ///< what comes in is written in the job's format by the norm or activation that makes it
  bool gradient_cast = false;  ///< so is the gradient of what goes out, by the backward of an activation
  Divided divided{};
  std::optional<LoraTargets> adapted{};  ///< has an adapter where the job trains adapters of these, or of all
  bool exact = false;  ///< `outputs` are not filled up to what products like: an odd number of them is slow to read
};

/// y = x W, W of `inputs` x `outputs` (already divided): one product per pass; that of W adds to the gradients where it
/// is made (Megatron's gradient accumulation fusion), so the sum costs the traffic of its epilogue and no kernel. In a
/// format of 8 or 4 bits, what comes in and the gradient of what goes out are cast first; weights come cast.
void add_linear(LayerKernels& kernels, const JobShape& shape, const Product& product);

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
  /// Adds what comes in first in the backward: what left in the forward.
  void enter_backward() {
    if (shape_.parallelism.sequence_parallel) add(kernels_.input_grad, CollectiveOp::kAllGather);
  }
  void leave_backward() {
    const bool scattered = shape_.parallelism.sequence_parallel;
    add(kernels_.input_grad, scattered ? CollectiveOp::kReduceScatter : CollectiveOp::kAllReduce,
        shape_.parallelism.overlap_tensor);
    // W needs the whole input again.
    if (scattered && shape_.parallelism.adapter_rank == 0) add(kernels_.weight_grad, CollectiveOp::kAllGather, true);
  }

 private:
  /// Adds a collective. Where products and exchange go on part by part, only the first part is waited for.
  void add(PassKernels& pass, CollectiveOp op, bool hidden = false) const {
    const std::int64_t parts = shape_.parallelism.tensor;
    if (parts < 2) return;
    const bool in_parts = shape_.parallelism.overlap_products && shape_.parallelism.sequence_parallel && !hidden;
    // What products read is gathered as they read it; what is summed stays in 16 bits.
    const double bytes = op == CollectiveOp::kAllGather ? values_ * shape_.parallelism.gathered_share() : values_;
    const double first = in_parts ? bytes / static_cast<double>(parts) : bytes;
    pass.collective(op, GroupAxis::kTensor, first, hidden);
    if (in_parts) pass.collective(op, GroupAxis::kTensor, bytes - first, true);
  }

  LayerKernels& kernels_;
  const JobShape& shape_;
  double values_;
};

}  // namespace plumb
