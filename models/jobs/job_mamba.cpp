#include "models/jobs/job_layers.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {
namespace {

/// What the kernels of a scan move (`mamba_chunk_scan_combined` of state-spaces/mamba, which Megatron calls): numbers
/// of 16 bits for each of the inner width and for each of the groups' states, bytes for each state of a chunk (32 bits,
/// or 16 once it was handed on) and for each score of a chunk (32 bits), by token.
struct ScanTraffic {
  double inner = 0;
  double groups = 0;
  double states = 0;
  double scores = 0;
  std::int32_t launches = 0;
  double slower = 1;  ///< than elementwise work that moves as much
};

/// The scans are written in Triton, and take longer than elementwise work that moves as much. Forward, 8192 tokens of
/// 128 heads (64 wide, states of 128, one group, chunks of 256) take 0.649 ms on an H100 (vLLM's pull request 27299,
/// the kernels called "original"), where the bytes above take 0.31 at the rate of elementwise work. Backward: a step of
/// a Mamba-2 model on an H200 (48 layers, 2048 wide, 4 samples of 4096 tokens; state-spaces/mamba, issue 904) takes
/// 0.55 s at 6 FLOPs for a token and parameter, of which products are 0.13 and all that is neither product nor scan
/// 0.12 (the same table, of a Mamba-3 model of that size); 0.01 go to the convolution and 0.03 to the scan forward, and
/// for what is left these bytes would take 0.05.
constexpr double kScanForwardSlower = 2.05;
constexpr double kScanBackwardSlower = 5;

/// Sums of steps, states of chunks, states handed on, scores, results.
constexpr ScanTraffic kScanForward{
    .inner = 3, .groups = 4, .states = 4 + 6 + 2, .scores = 8, .launches = 5, .slower = kScanForwardSlower};
/// States and scores again in 32 bits, gradients of the states, which are handed back, of the inputs, of both groups,
/// of the scores and of the steps.
constexpr ScanTraffic kScanBackward{.inner = 11,
                                    .groups = 14,
                                    .states = 4 + 8 + 4 + 12 + 2 + 2 + 2,
                                    .scores = 32,
                                    .launches = 22,
                                    .slower = kScanBackwardSlower};

double scan_bytes(const LayerSpec& layer, const JobShape& shape, const ScanTraffic& traffic) {
  const auto inner = static_cast<double>(mamba_inner(layer));
  const auto chunk = static_cast<double>(layer.delta ? kDeltaChunk : kMambaChunk);
  const auto state = static_cast<double>(layer.state);
  const auto groups = static_cast<double>(layer.groups);
  const double moved =
      static_cast<double>(shape.number_bytes()) * (traffic.inner * inner + traffic.groups * groups * state) +
      traffic.states * inner * state / chunk + traffic.scores * groups * chunk;
  return traffic.slower * moved;
}

/// Products to the narrow features of the gates, whole on each tensor rank, and from them.
void add_gates(LayerKernels& kernels, const LayerSpec& layer, const JobShape& shape) {
  if (layer.gate_rank == 0) return;
  const std::int64_t gates = mamba_gates(layer) / shape.parallelism.tensor;
  add_linear(kernels, shape, {.tokens = shape.tokens(), .inputs = layer.width, .outputs = 2 * layer.gate_rank});
  add_linear(kernels, shape, {.tokens = shape.tokens(), .inputs = layer.gate_rank, .outputs = gates});
}

}  // namespace

/// Heads and groups are divided over tensor ranks; context ranks exchange tokens for heads before the scan and back
/// after it (Megatron's Mamba context parallelism). The scan is a fused kernel as attention is. The backward scans
/// twice: states again, then gradients.
LayerKernels mamba_kernels(const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t tensor = shape.parallelism.tensor;
  const std::int64_t tokens = shape.tokens();
  const std::int64_t inner = mamba_inner(layer) / tensor;
  const std::int64_t projected = mamba_projected(layer) / tensor;
  const std::int64_t convolved = mamba_convolved(layer) / tensor;
  const std::int64_t gates = mamba_gates(layer) / tensor;
  const auto each = static_cast<double>(tokens) / static_cast<double>(tensor);
  const double scan = layer.state > 0 ? each * scan_flops(layer) : 0;
  LayerKernels kernels;
  TensorBlock block(kernels, shape, layer.width);
  LayerKernels in;
  LayerKernels out;
  add_linear(in, shape,
             {.tokens = tokens,
              .inputs = layer.width,
              .outputs = projected,
              .input_cast = true,
              .divided = Divided::kOutputs});
  add_gates(in, layer, shape);
  add_linear(
      out, shape,
      {.tokens = tokens, .inputs = inner, .outputs = layer.width, .input_cast = true, .divided = Divided::kInputs});
  const auto exchange = [&](PassKernels& pass, std::int64_t features) {
    if (shape.parallelism.context < 2) return;
    pass.collective(CollectiveOp::kAllToAll, GroupAxis::kContext, shape.bytes(tokens, features));
  };
  block.enter();
  kernels.forward.append(in.forward);
  exchange(kernels.forward, projected + gates);
  if (layer.kernel > 0) kernels.forward.memory(2 * shape.bytes(tokens, convolved), 1);
  AttentionShape fused{.rows = tokens,
                       .columns = layer.delta ? kDeltaChunk : kMambaChunk,
                       .heads = layer.heads / tensor,
                       .key_width = layer.state,
                       .value_width = layer.head_width};
  if (layer.state > 0) {
    kernels.forward.attention(fused, scan, each * scan_bytes(layer, shape, kScanForward), kScanForward.launches);
  }
  fused.pass = ProductPass::kInputGrad;
  kernels.forward.memory(3 * shape.bytes(tokens, inner), 1, Movement::kNorm);  // gate and norm
  exchange(kernels.forward, inner);
  kernels.forward.append(out.forward);
  block.leave();
  block.enter_backward();
  kernels.input_grad.append(out.input_grad);
  exchange(kernels.input_grad, inner);
  kernels.input_grad.memory(6 * shape.bytes(tokens, inner), 2, Movement::kNorm);
  if (layer.state > 0) {
    kernels.input_grad.attention(fused, 3 * scan, each * scan_bytes(layer, shape, kScanBackward),
                                 kScanBackward.launches);
  }
  if (layer.kernel > 0) kernels.input_grad.memory(5 * shape.bytes(tokens, convolved), 3);  // again, and its gradient
  exchange(kernels.input_grad, projected + gates);
  kernels.input_grad.append(in.input_grad);
  block.leave_backward();
  kernels.weight_grad.append(out.weight_grad);
  kernels.weight_grad.append(in.weight_grad);
  return kernels;
}

}  // namespace plumb
