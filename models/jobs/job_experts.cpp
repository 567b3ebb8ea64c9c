#include <algorithm>

#include "models/jobs/job_layers.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {
namespace {

/// Two products with the activation between them, `copies` times for `tokens` tokens of `features` each.
struct MlpShape {
  std::int64_t tokens = 0;
  std::int64_t features = 0;
  std::int64_t hidden = 0;
  std::int64_t copies = 1;
  bool routed = false;  ///< tokens come from a permutation, not from a norm
};

/// Appends the kernels of an MLP; the activation runs again where the job recomputes it. Megatron's fused activations
/// write 16 bits, so products in other formats cast what they read.
void add_mlp(LayerKernels& kernels, const LayerSpec& layer, const JobShape& shape, const MlpShape& mlp) {
  const auto& [tokens, features, hidden, copies, routed] = mlp;
  const auto divided = [&](Divided side) { return mlp.routed ? Divided::kNeither : side; };
  const auto adapted = layer.kind == LayerKind::kMlp ? std::optional(LoraTargets::kAll) : std::nullopt;  // no experts
  const std::int64_t inner = layer.gated ? 2 * hidden : hidden;
  LayerKernels in;
  LayerKernels out;
  add_linear(in, shape,
             {.tokens = tokens,
              .inputs = features,
              .outputs = inner,
              .copies = copies,
              .input_cast = !routed,
              .divided = divided(Divided::kOutputs),
              .adapted = adapted});
  add_linear(out, shape,
             {.tokens = tokens,
              .inputs = hidden,
              .outputs = features,
              .copies = copies,
              .divided = divided(Divided::kInputs),
              .adapted = adapted});
  if (layer.bias && copies == 1) {
    add_bias(in, shape, tokens, inner, false);  // added with the activation
    add_bias(out, shape, shape.norm_tokens(), features, false);
  }
  const double wide = shape.bytes(tokens * copies, inner);
  const double narrow = shape.bytes(tokens * copies, hidden);
  PassKernels activation;
  activation.memory(wide + narrow);
  kernels.forward.append(in.forward);
  kernels.forward.append(activation);
  kernels.forward.append(out.forward);
  if (shape.parallelism.modules.has(RecomputeModule::kActivation)) kernels.again.append(activation);
  kernels.input_grad.append(out.input_grad);
  kernels.input_grad.memory(2 * wide + narrow);
  kernels.input_grad.append(in.input_grad);
  kernels.weight_grad.append(out.weight_grad);
  kernels.weight_grad.append(in.weight_grad);
}

/// Bytes of a number in 8 bits with a scale of 4 bytes for 128 of them (DeepSeek-V3).
constexpr double kDispatchedByte = 1 + 4.0 / 128;

/// Kernels, small collectives and copies to the host that bring tokens to their experts and back, beside the exchanges
/// themselves: forward there (scores, choice, counts, permutation) and back (order, weighted sum), and their backwards.
struct WayLaunches {
  std::int32_t there = 0;
  std::int32_t back = 0;
  std::int32_t back_backward = 0;
  std::int32_t there_backward = 0;
};

/// With the fused router and permutation that current recipes use.
constexpr WayLaunches kFusedWay{.there = 6, .back = 2, .back_backward = 2, .there_backward = 6};
/// Megatron-LM's all-to-all dispatcher, counted in core_r0.15 (`MoEAlltoAllTokenDispatcher`) and in the permutation of
/// Transformer Engine 2.9. There: choice of the experts 2, sums of the routing map 5, exchange of the counts and their
/// rows 2, copies to the host 4, rows of the permutation 3 and itself, exchange of the probabilities, order by local
/// experts 3. Back: order 3, weighted sum and the view of it, sum with the shared experts. Backward: what moves tokens.
constexpr WayLaunches kAllToAllWay{.there = 21, .back = 5, .back_backward = 3, .there_backward = 6};

const WayLaunches& way_launches(const Parallelism& job) {
  return job.dispatcher == Dispatcher::kAllToAll && job.expert > 1 ? kAllToAllWay : kFusedWay;
}

/// The way of the tokens of a device to the experts and back.
class ExpertWay {
 public:
  ExpertWay(const LayerSpec& layer, const JobShape& shape)
      : job_(shape.parallelism),
        sent_(shape.bytes(shape.dispatched_tokens(), expert_width(layer))),
        gathered_(shape.bytes(shape.expert_tokens(layer), expert_width(layer))),
        narrow_(kDispatchedByte / static_cast<double>(shape.number_bytes())),
        copies_(layer.experts_per_token),
        experts_(layer.experts) {}

  /// Adds the way to the experts; in the forward in 8 bits where the job does so.
  void there(PassKernels& pass, bool forward) const {
    exchange(pass, sent_ * (forward && job_.low_precision_dispatch ? narrow_ : 1));
    gather(pass, CollectiveOp::kAllGather);
  }
  void back(PassKernels& pass) const {
    gather(pass, CollectiveOp::kReduceScatter);
    exchange(pass, sent_);
  }

 private:
  void exchange(PassKernels& pass, double bytes) const {
    if (job_.expert == 1) return;
    pass.exchange(
        {.bytes = bytes * job_.expert_load(), .copies = copies_, .experts = experts_, .dispatcher = job_.dispatcher},
        job_.overlap_experts);
  }
  /// Ranks that divide an expert put their tokens together.
  void gather(PassKernels& pass, CollectiveOp op) const {
    if (job_.expert_parts() == 1 || !job_.sequence_parallel) return;
    pass.collective(op, GroupAxis::kExpertTensor, gathered_, job_.overlap_experts);
  }

  const Parallelism& job_;
  double sent_;
  double gathered_;
  double narrow_;
  std::int64_t copies_;
  std::int64_t experts_;
};

/// Biases of experts that are added to what they make: Megatron-LM (core_r0.15, `TEGroupedMLP._apply_bias`) splits the
/// tokens by expert, adds each one's bias times the token's weight, which has 32 bits, puts them together and narrows
/// them. A number is moved as 28 bytes forward: product 4, sum 2 + 4 + 4, together 8, narrowed 6; and as 40 back:
/// widened 6, narrowed 6, its product with the bias and with the weight 12 each, together 4. Operations this small take
/// the host about a quarter of what others do: two for each expert forward, six back. In 8 bits the gradient of each
/// expert is cast apart, with the sum that its bias gets. Where all is captured, the host knows no counts to split by:
/// products add them.
void add_expert_biases(LayerKernels& kernels, const LayerSpec& layer, const JobShape& shape, std::int64_t local) {
  const Parallelism& job = shape.parallelism;
  if (!layer.bias || job.captured == CapturedGraphs::kAll) return;
  constexpr double kMovedForward = 4 + (2 + 4 + 4) + 8 + 6;
  constexpr double kMovedBackward = 6 + 6 + 12 + 12 + 4;
  constexpr std::int64_t kSmallOperations = 4;  // in the time of another
  const double numbers = static_cast<double>(shape.expert_tokens(layer)) * static_cast<double>(expert_width(layer));
  const auto launches = [&](std::int64_t each) {
    return static_cast<std::int32_t>((each * local + kSmallOperations - 1) / kSmallOperations + 2);
  };
  kernels.forward.memory(kMovedForward * numbers, launches(2));
  kernels.input_grad.memory(kMovedBackward * numbers, launches(6));
  constexpr std::int64_t kProducts = 2;
  if (job.format != MatrixFormat::kBf16) {
    kernels.input_grad.memory(0, static_cast<std::int32_t>(kProducts * local), Movement::kCast);
  }
}

/// The router's product and what Megatron-LM (d98e8a6, `router.py`, `moe_utils.py`) starts around it, with its fused
/// router. The loss that balances experts: scores and counts for it, itself, its size for the log and the sum there;
/// back two scalars, its gradient and that of its scores, and their sum with the gradient of the choice. The product's
/// gradients are computed in 32 bits: both operands widened, both results narrowed, and the weight's added to its sum
/// by a kernel of its own. The tokens' gradients by way of the router and of the experts are added up.
void add_router(LayerKernels& kernels, const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t own = shape.dispatched_tokens();
  const double scores = shape.bytes(own, layer.experts);
  const double tokens = shape.bytes(own, layer.width);
  constexpr std::int32_t kBalancing = 5;
  constexpr std::int32_t kWidened = 4;
  add_linear(kernels, shape, {.tokens = own, .inputs = layer.width, .outputs = layer.experts, .wide = true});
  kernels.forward.memory(3 * scores, kBalancing);
  kernels.input_grad.memory(5 * scores, kBalancing);
  kernels.input_grad.memory(3 * tokens + 3 * tokens, kWidened);
  kernels.input_grad.memory(3 * tokens);
  if (shape.parallelism.adapter_rank == 0) kernels.weight_grad.memory(0);  // few bytes
}

/// Products of 8 and 4 bits take tokens in sixteens or more. Beside Megatron-LM's all-to-all dispatcher Transformer
/// Engine fills every expert's tokens (of `bytes`) up and cuts what comes out back (`Fp8Padding`, d0067d0), each by a
/// kernel, and their probabilities by one more; other dispatchers write them so.
void add_padding(PassKernels& pass, const Parallelism& job, double bytes, std::int32_t launches) {
  if (job.format == MatrixFormat::kBf16 || job.dispatcher != Dispatcher::kAllToAll) return;
  if (job.expert_capacity == 0) pass.memory(2 * bytes, launches);
}

void add_shared_experts(LayerKernels& kernels, const LayerSpec& layer, const JobShape& shape) {
  if (layer.shared_experts == 0) return;
  const bool divided = shape.parallelism.sequence_parallel;
  LayerKernels shared;
  TensorBlock block(shared, shape, layer.width);
  if (divided) block.enter();
  if (divided) block.enter_backward();
  add_mlp(shared, layer, shape, {shape.tokens(), layer.width, shared_width(layer) / shape.parallelism.tensor});
  if (layer.shared_gate) {  // a product with one column, its sigmoid, and the experts' sum times it
    const double values = shape.bytes(shape.norm_tokens(), layer.width);
    add_linear(shared, shape, {.tokens = shape.norm_tokens(), .inputs = layer.width, .outputs = 1, .wide = true});
    shared.forward.memory(2 * values, 2);
    shared.input_grad.memory(3 * values, 3);
  }
  if (divided) block.leave();
  if (divided) block.leave_backward();
  kernels.append(shared);
}

}  // namespace

LayerKernels mlp_kernels(const LayerSpec& layer, const JobShape& shape) {
  LayerKernels kernels;
  TensorBlock block(kernels, shape, layer.width);
  block.enter();
  block.enter_backward();
  add_mlp(kernels, layer, shape, {shape.tokens(), layer.width, layer.hidden / shape.parallelism.tensor});
  block.leave();
  block.leave_backward();
  return kernels;
}

/// Router, exchange, experts, exchange: `expert_tensor` ranks divide every expert. Where the sequence is divided, each
/// tensor rank sends its own part; otherwise all of them send all of it, and their results are summed.
LayerKernels moe_kernels(const LayerSpec& layer, const JobShape& shape) {
  const Parallelism& job = shape.parallelism;
  const std::int64_t local = std::max<std::int64_t>(1, layer.experts / job.expert);
  const std::int64_t taken = shape.expert_tokens(layer);
  const std::int64_t own = shape.dispatched_tokens();
  const std::int64_t width = expert_width(layer);
  const double permuted = shape.bytes(own * layer.experts_per_token, width) * job.expert_load();
  const ExpertWay way(layer, shape);
  const WayLaunches& launches = way_launches(job);
  LayerKernels kernels;
  TensorBlock block(kernels, shape, layer.width);
  add_router(kernels, layer, shape);
  if (layer.latent_width > 0) add_linear(kernels, shape, {own, layer.width, width});
  LayerKernels experts;
  experts.forward.memory(2 * permuted, launches.there, Movement::kPermute);  // scores, choice, permutation
  way.there(experts.forward, true);
  experts.input_grad.memory(3 * permuted, launches.back_backward, Movement::kPermute);
  way.there(experts.input_grad, false);
  for (PassKernels* pass : {&experts.forward, &experts.input_grad}) add_padding(*pass, job, permuted, 2);
  add_mlp(experts, layer, shape,
          {std::max<std::int64_t>(1, taken / local), width, layer.hidden / job.expert_parts(), local, true});
  add_expert_biases(experts, layer, shape, local);
  for (PassKernels* pass : {&experts.forward, &experts.input_grad}) add_padding(*pass, job, permuted, 1);
  way.back(experts.forward);
  way.back(experts.input_grad);
  experts.forward.memory(3 * permuted, launches.back, Movement::kPermute);  // back in order, weighted sum
  experts.input_grad.memory(2 * permuted, launches.there_backward, Movement::kPermute);
  for (PassKernels* pass : {&experts.forward, &experts.input_grad, &experts.weight_grad}) {
    for (Kernel& kernel : pass->list) kernel.routed = true;
  }
  kernels.append(experts);
  if (layer.latent_width > 0) add_linear(kernels, shape, {own, width, layer.width});
  add_shared_experts(kernels, layer, shape);
  if (!job.sequence_parallel) {
    block.leave();
    block.leave_backward();
  }
  if (job.modules.has(RecomputeModule::kMoe)) kernels.again = kernels.forward;
  return kernels;
}

}  // namespace plumb
