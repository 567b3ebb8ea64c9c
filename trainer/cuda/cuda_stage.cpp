#include "trainer/cuda/cuda_stage.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cassert>
#include <vector>

#include "models/error.hpp"
#include "trainer/cuda/cuda_call.hpp"
#include "trainer/cuda/kernels/blocks.hpp"
#include "trainer/cuda/kernels/optimizer.hpp"
#include "trainer/cuda/layers/cuda_stage_module.hpp"
#include "trainer/cuda/lt_products.hpp"
#include "trainer/initial_weights.hpp"

namespace plumb {

namespace {

using kernels::Segment;

std::vector<Segment> segments_of(const StageLayout& layout) {
  std::vector<Segment> segments;
  for (const ParameterFacts& parameter : layout.parameters) {
    segments.push_back({.count = parameter.count(), .decayed = parameter.decayed});
  }
  return segments;
}

/// Room for one sum per parameter, and what it is made from.
std::int64_t sums_bytes(std::size_t parameters) {
  return (static_cast<std::int64_t>(parameters * sizeof(double)) + 255) / 256 * 256;
}

/// A stage in float.
class CudaStage final : public StageBackend {
 public:
  explicit CudaStage(const StageSpec& spec)
      : spec_(spec),
        stream_(static_cast<kernels::Stream>(spec.place.stream)),
        module_(*spec.layout, spec.shape),
        segments_(segments_of(*spec.layout)),
        products_({spec.place.sms, spec.place.product_workspace, spec.place.product_workspace_bytes}) {}

  void run(Op op, const PassArguments& pass) override {
    const kernels::CudaStageModule<float>::Pass on_device{
        .device = {stream_, &products_, spec_.place.scratch},
        .weights = numbers(pass.weights),
        .gradients = numbers(pass.gradients),
        .blocks = pass.blocks,
        .ids = pass.ids,
        .loss = op == Op::kF ? pass.loss : nullptr,
    };
    switch (op) {
      case Op::kF:
      case Op::kR:
        return module_.forward(on_device);
      case Op::kI:
        return module_.input_grad(on_device);
      case Op::kW:
        return module_.weight_grad(on_device);
      case Op::kB:
        return module_.backward(on_device);
      default:
        assert(false && "not a pass");
    }
  }

  void initialize(std::uint64_t seed, const HolderBlocks& blocks) override {
    const StageMemory& memory = spec_.layout->memory;
    std::vector<float> weights(static_cast<std::size_t>(memory.weight_bytes) / sizeof(float));
    fill_parameters(std::span(spec_.layout->parameters), seed, weights.data());
    PLUMB_CUDA_CALL(cudaMemcpyAsync(blocks.weights, weights.data(), static_cast<std::size_t>(memory.weight_bytes),
                                    cudaMemcpyHostToDevice, stream_));
    clear(blocks.gradients, memory.gradient_bytes);
    clear(blocks.state, memory.optimizer_bytes);
    PLUMB_CUDA_CALL(cudaStreamSynchronize(stream_));  // the numbers on the host go now
  }

  void update(const UpdateStep& step, const HolderBlocks& blocks) override {
    kernels::update_weights<float>(spec_.optimizer, step, segments_,
                                   {numbers(blocks.weights), numbers(blocks.gradients), numbers(blocks.state)},
                                   stream_);
    if (!step.keep_gradients) clear(blocks.gradients, spec_.layout->memory.gradient_bytes);
  }

  void copy(std::byte* to, const std::byte* from) override {
    kernels::copy_bytes(to, from, spec_.layout->memory.weight_bytes, stream_);
  }

  void apply(const Elementwise& operation, std::initializer_list<const std::byte*> blocks) override {
    std::vector<float*> all;
    for (const std::byte* block : blocks) all.push_back(numbers(const_cast<std::byte*>(block)));
    kernels::apply<float>(operation, all, segments_, stream_);
  }

  std::vector<double> products(const std::byte* a, const std::byte* b) override {
    auto* sums = reinterpret_cast<double*>(spec_.place.scratch);
    std::byte* partial = spec_.place.scratch + sums_bytes(segments_.size());
    kernels::products<float>({numbers(a), numbers(b), sums, partial}, segments_, stream_);
    std::vector<double> result(segments_.size());
    PLUMB_CUDA_CALL(
        cudaMemcpyAsync(result.data(), sums, result.size() * sizeof(double), cudaMemcpyDeviceToHost, stream_));
    PLUMB_CUDA_CALL(cudaStreamSynchronize(stream_));
    return result;
  }

  void scale(std::byte* block, std::span<const double> factors) override {
    std::vector<Segment> scaled = segments_;
    for (std::size_t i = 0; i < scaled.size(); ++i) scaled[i].factor = factors[i];
    kernels::scale(numbers(block), scaled, stream_);
  }

  std::vector<double> squared_norms(const HolderBlocks& blocks) override {
    return products(blocks.gradients, blocks.gradients);
  }

 private:
  static float* numbers(std::byte* bytes) { return reinterpret_cast<float*>(bytes); }
  static const float* numbers(const std::byte* bytes) { return reinterpret_cast<const float*>(bytes); }
  void clear(std::byte* bytes, std::int64_t count) const {
    if (bytes != nullptr && count > 0) kernels::clear(bytes, count, stream_);
  }

  StageSpec spec_;
  kernels::Stream stream_;
  kernels::CudaStageModule<float> module_;
  std::vector<Segment> segments_;
  cuda::LtProducts products_;
};

void check(NumberType type) {
  if (type != NumberType::kFloat32) throw Error("back end 'cuda': expected numbers float32");
}

}  // namespace

std::unique_ptr<StageBackend> make_cuda_stage(NumberType type, const StageSpec& spec) {
  check(type);
  return std::make_unique<CudaStage>(spec);
}

std::int64_t cuda_scratch_bytes(NumberType type, const StageSpec& spec) {
  check(type);
  const std::vector<Segment> segments = segments_of(*spec.layout);
  const std::int64_t sums = sums_bytes(segments.size()) + kernels::products_scratch_bytes(segments);
  return std::max(sums, kernels::CudaStageModule<float>(*spec.layout, spec.shape).scratch_bytes());
}

}  // namespace plumb
