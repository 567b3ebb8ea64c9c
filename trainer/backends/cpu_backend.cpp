#include "trainer/backends/cpu_backend.hpp"

#include <array>
#include <cassert>
#include <cstring>
#include <utility>

#include "trainer/numbers/gradient_clip.hpp"
#include "trainer/numbers/initial_weights.hpp"
#include "trainer/numbers/row.hpp"
#include "trainer/streams/host_streams.hpp"

namespace plumb {
namespace {

template <class T>
T* numbers(std::byte* bytes) {
  return reinterpret_cast<T*>(bytes);
}
template <class T>
const T* numbers(const std::byte* bytes) {
  return reinterpret_cast<const T*>(bytes);
}

template <class T>
class CpuStage : public StageBackend {
 public:
  explicit CpuStage(const StageSpec& spec) : spec_(spec), module_(*spec.layout, spec.shape) {}

  void run(Op op, const PassArguments& pass) override {
    const StageWeights<T> weights(numbers<T>(pass.weights), numbers<T>(pass.frozen));
    T* gradients = numbers<T>(pass.gradients);
    switch (op) {
      case Op::kF:
      case Op::kX:
        return module_.forward(weights, pass.blocks, pass.ids, pass.loss);
      case Op::kR:
        return module_.recompute(weights, pass.blocks, pass.ids);
      case Op::kI:
        return module_.input_grad(weights, gradients, pass.blocks);
      case Op::kW:
        return module_.weight_grad(gradients, pass.blocks);
      case Op::kB:
        return module_.backward(weights, gradients, pass.blocks);
      default:
        assert(false && "not a pass");
    }
  }

  void initialize(std::uint64_t seed, const HolderBlocks& blocks) override {
    fill_parameters(std::span(spec_.layout->parameters), seed, numbers<T>(blocks.weights));
    clear(blocks.gradients, spec_.layout->memory.gradient_bytes);
    clear(blocks.state, spec_.layout->memory.optimizer_bytes);
  }

  void update(const UpdateStep& step, const HolderBlocks& blocks) override {
    plumb::update<T>(spec_.optimizer, step, spec_.layout->parameters,
                     {numbers<T>(blocks.weights), numbers<T>(blocks.gradients), numbers<T>(blocks.state)});
    if (!step.keep_gradients) clear(blocks.gradients, spec_.layout->memory.gradient_bytes);
  }

  void copy(std::byte* to, const std::byte* from) override {
    std::memcpy(to, from, static_cast<std::size_t>(spec_.layout->memory.updated_bytes()));
  }

  void apply(const Elementwise& operation, std::initializer_list<const std::byte*> blocks) override {
    std::visit([&](const auto& by) { apply_to_parameters(by, std::data(blocks)); }, operation);
  }

  std::vector<double> products(const std::byte* a, const std::byte* b) override {
    std::vector<double> sums;
    const T* x = numbers<T>(a);
    const T* y = numbers<T>(b);
    for (const ParameterFacts& parameter : spec_.layout->parameters) {
      const auto product = [&](std::int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(y[i]); };
      sums.push_back(row_sum<double>(parameter.count(), product));
      x += parameter.count();
      y += parameter.count();
    }
    return sums;
  }

  void scale(std::byte* block, std::span<const double> factors) override {
    T* x = numbers<T>(block);
    auto factor = factors.begin();
    for (const ParameterFacts& parameter : spec_.layout->parameters) {
      for (std::int64_t i = 0; i < parameter.count(); ++i) x[i] *= static_cast<T>(*factor);
      x += parameter.count();
      ++factor;
    }
  }

  std::vector<double> squared_norms(const HolderBlocks& blocks) override {
    return plumb::squared_norms<T>(spec_.layout->parameters, numbers<T>(blocks.gradients));
  }

 private:
  template <class Operation>
  void apply_to_parameters(const Operation& operation, const std::byte* const* blocks) {
    std::array<T*, Operation::kBlocks> x{};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = numbers<T>(const_cast<std::byte*>(blocks[i]));
    for (const ParameterFacts& parameter : spec_.layout->parameters) {
      apply_to_numbers(operation, parameter, x, std::make_index_sequence<Operation::kBlocks>());
      for (T*& block : x) block += parameter.count();
    }
  }

  template <class Operation, std::size_t kCount, std::size_t... kIndex>
  static void apply_to_numbers(const Operation& operation, const ParameterFacts& parameter,
                               const std::array<T*, kCount>& x, std::index_sequence<kIndex...>) {
    const std::int64_t count = parameter.count();
    const bool decayed = parameter.decayed;
    for (std::int64_t i = 0; i < count; ++i) operation(decayed, x[kIndex][i]...);
  }

  static void clear(std::byte* bytes, std::int64_t count) {
    if (bytes != nullptr && count > 0) std::memset(bytes, 0, static_cast<std::size_t>(count));
  }

  StageSpec spec_;
  StageModule<T> module_;
};

template <class T>
void add_numbers(std::span<std::byte> sum, std::span<const std::byte> term) {
  T* to = numbers<T>(sum.data());
  const T* from = numbers<T>(term.data());
  for (std::size_t i = 0; i < sum.size() / sizeof(T); ++i) to[i] += from[i];
}

template <class T>
void scale_numbers(std::span<std::byte> bytes, double factor) {
  T* values = numbers<T>(bytes.data());
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) values[i] *= static_cast<T>(factor);
}

}  // namespace

std::unique_ptr<StageBackend> make_cpu_stage(NumberType type, const StageSpec& spec) {
  assert(type != NumberType::kBFloat16 && "the run's plan refuses it");
  if (type == NumberType::kFloat64) return std::make_unique<CpuStage<double>>(spec);
  return std::make_unique<CpuStage<float>>(spec);
}

void add_on_cpu(NumberType type, std::span<std::byte> sum, std::span<const std::byte> term) {
  assert(sum.size() == term.size());
  return type == NumberType::kFloat64 ? add_numbers<double>(sum, term) : add_numbers<float>(sum, term);
}

void scale_on_cpu(NumberType type, std::span<std::byte> numbers, double factor) {
  return type == NumberType::kFloat64 ? scale_numbers<double>(numbers, factor) : scale_numbers<float>(numbers, factor);
}

std::unique_ptr<StreamMachine> make_cpu_streams(const StreamOptions&) { return thread_streams(add_on_cpu); }

}  // namespace plumb
