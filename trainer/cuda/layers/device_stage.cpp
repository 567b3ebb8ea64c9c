#include "trainer/cuda/layers/device_stage.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "trainer/cuda/kernels/blocks.hpp"
#include "trainer/cuda/kernels/host_copies.hpp"
#include "trainer/cuda/kernels/optimizer.hpp"
#include "trainer/cuda/layers/attention_sizes.hpp"
#include "trainer/cuda/layers/cuda_stage_module.hpp"
#include "trainer/cuda/layers/image_sizes.hpp"
#include "trainer/numbers/initial_weights.hpp"
#include "trainer/numbers/number_type.hpp"

namespace plumb::kernels {

namespace {

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

template <class U>
U* numbers_in(std::byte* bytes) {
  return reinterpret_cast<U*>(bytes);
}
template <class U>
const U* numbers_in(const std::byte* bytes) {
  return reinterpret_cast<const U*>(bytes);
}

template <class T>
class DeviceStage final : public StageBackend {
 public:
  DeviceStage(const StageSpec& spec, std::unique_ptr<MatrixProducts> by, OtherUnits others)
      : spec_(spec),
        stream_(static_cast<Stream>(spec.place.stream)),
        module_(*spec.layout, spec.shape),
        segments_(segments_of(*spec.layout)),
        products_(std::move(by)),
        others_(std::move(others)) {}

  void run(Op op, const PassArguments& pass) override {
    const typename CudaStageModule<T>::Pass on_device{
        .device = {stream_, products_.get(), spec_.place.scratch, others_.attention.get(), others_.convolutions.get()},
        .weights = numbers_in<T>(pass.weights),
        .frozen = numbers_in<T>(pass.frozen),
        .gradients = numbers_in<float>(pass.gradients),
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
    const std::int64_t count = parameter_offsets(*spec_.layout).back();
    std::vector<float> weights(static_cast<std::size_t>(count));
    fill_parameters(std::span(spec_.layout->parameters), seed, weights.data());
    clear(blocks.gradients, memory.gradient_bytes);
    clear(blocks.state, memory.optimizer_bytes);
    if constexpr (sizeof(T) < sizeof(float)) {
      const auto rounded = rounded_to_bfloat16(std::as_bytes(std::span(weights)));
      copy_and_wait(blocks.weights, rounded.data(), memory.updated_bytes(), stream_);
      if (blocks.state != nullptr) copy_and_wait(blocks.state, weights.data(), count * 4, stream_);
    } else {
      copy_and_wait(blocks.weights, weights.data(), memory.updated_bytes(), stream_);
    }
  }

  void update(const UpdateStep& step, const HolderBlocks& blocks) override {
    update_weights<T>(
        spec_.optimizer, step, segments_,
        {numbers_in<T>(blocks.weights), numbers_in<float>(blocks.gradients), numbers_in<float>(blocks.state)}, stream_);
    if (!step.keep_gradients) clear(blocks.gradients, spec_.layout->memory.gradient_bytes);
  }

  void copy(std::byte* to, const std::byte* from) override {
    copy_bytes(to, from, spec_.layout->memory.updated_bytes(), stream_);
  }

  void apply(const Elementwise& operation, std::initializer_list<const std::byte*> blocks) override {
    std::vector<float*> all;
    for (const std::byte* block : blocks) all.push_back(numbers_in<float>(const_cast<std::byte*>(block)));
    kernels::apply<float>(operation, all, segments_, stream_);
  }

  std::vector<double> products(const std::byte* a, const std::byte* b) override {
    auto* sums = numbers_in<double>(spec_.place.scratch);
    std::byte* partial = spec_.place.scratch + sums_bytes(segments_.size());
    kernels::products<float>({numbers_in<float>(a), numbers_in<float>(b), sums, partial}, segments_, stream_);
    std::vector<double> result(segments_.size());
    copy_and_wait(result.data(), sums, static_cast<std::int64_t>(result.size() * sizeof(double)), stream_);
    return result;
  }

  void scale(std::byte* block, std::span<const double> factors) override {
    std::vector<Segment> scaled = segments_;
    for (std::size_t i = 0; i < scaled.size(); ++i) scaled[i].factor = factors[i];
    kernels::scale(numbers_in<float>(block), scaled, stream_);
  }

  std::vector<double> squared_norms(const HolderBlocks& blocks) override {
    return products(blocks.gradients, blocks.gradients);
  }

 private:
  void clear(std::byte* bytes, std::int64_t count) const {
    if (bytes != nullptr && count > 0) kernels::clear(bytes, count, stream_);
  }

  StageSpec spec_;
  Stream stream_;
  CudaStageModule<T> module_;
  std::vector<Segment> segments_;
  std::unique_ptr<MatrixProducts> products_;
  OtherUnits others_;
};

[[noreturn]] void refuse(NumberType type) {
  throw Error("back end 'cuda': numbers " + std::string(name_of(type)) + "; expected float32 or bf16");
}

}  // namespace

std::unique_ptr<StageBackend> make_device_stage(NumberType type, const StageSpec& spec,
                                                std::unique_ptr<MatrixProducts> products, OtherUnits others) {
  if (type == NumberType::kFloat32) {
    return std::make_unique<DeviceStage<float>>(spec, std::move(products), std::move(others));
  }
  if (type == NumberType::kBFloat16) {
    return std::make_unique<DeviceStage<BFloat16>>(spec, std::move(products), std::move(others));
  }
  refuse(type);
}

std::vector<AttentionShape> attention_shapes(const StageSpec& spec) {
  std::vector<AttentionShape> shapes;
  for (const LayoutStep& step : spec.layout->steps) {
    if (step.spec.kind != LayerKind::kAttention && step.spec.kind != LayerKind::kAttentionCore) continue;
    shapes.push_back(AttentionSizes(step.spec).shape(spec.shape, step.spec.causal));
  }
  return shapes;
}

std::vector<ConvolutionShape> convolution_shapes(const StageSpec& spec) {
  std::vector<ConvolutionShape> shapes;
  for (const LayoutStep& step : spec.layout->steps) {
    if (!asks_for_convolution(step.spec)) continue;
    shapes.push_back(convolution_shape(step.spec, spec.shape.tokens()));
  }
  return shapes;
}

std::int64_t device_scratch_bytes(NumberType type, const StageSpec& spec) {
  const std::vector<Segment> segments = segments_of(*spec.layout);
  const std::int64_t sums = sums_bytes(segments.size()) + products_scratch_bytes(segments);
  if (type == NumberType::kFloat32) {
    return std::max(sums, CudaStageModule<float>(*spec.layout, spec.shape).scratch_bytes());
  }
  if (type == NumberType::kBFloat16) {
    return std::max(sums, CudaStageModule<BFloat16>(*spec.layout, spec.shape).scratch_bytes());
  }
  refuse(type);
}

}  // namespace plumb::kernels
