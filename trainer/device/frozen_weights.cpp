#include "trainer/device/frozen_weights.hpp"

#include <utility>
#include <vector>

#include "trainer/numbers/initial_weights.hpp"
#include "trainer/stages/step_pass.hpp"

namespace plumb {
namespace {

/// Returns the weights as numbers of T, one after the other.
template <class T>
std::vector<std::byte> values_of(const RunPlan& plan, const StageLayout& layout) {
  const std::span<const ParameterFacts> parameters(layout.frozen);
  std::vector<std::byte> bytes(static_cast<std::size_t>(frozen_offsets(layout).back()) * sizeof(T));
  T* values = reinterpret_cast<T*>(bytes.data());
  fill_parameters(parameters, plan.options.model.seed, values);
  set_parameters(parameters, plan.options.model.initial_parameters, values);
  return bytes;
}

}  // namespace

void FrozenWeights::make(const RunPlan& plan, StageId stage, Arena& arena) {
  const StageLayout& layout = plan.layout(stage, 0);
  if (layout.frozen.empty() || blocks_.contains(stage)) return;
  Block block = arena.allocate(MemoryClass::kWeights, layout.memory.frozen_bytes);
  const NumberType numbers = plan.options.model.numbers;
  std::vector<std::byte> values =
      numbers == NumberType::kFloat64 ? values_of<double>(plan, layout) : values_of<float>(plan, layout);
  if (numbers == NumberType::kBFloat16) values = rounded_to_bfloat16(values);
  arena.memory().write(block.data(), values);
  arena.memory().wait();
  blocks_.emplace(stage, std::move(block));
}

std::span<const std::byte> FrozenWeights::of(StageId stage) const {
  const auto found = blocks_.find(stage);
  return found == blocks_.end() ? std::span<const std::byte>{} : found->second.span();
}

std::span<const std::byte> FrozenWeights::stored(StageId stage, DeviceMemory& memory, NumberType numbers) {
  const std::span<const std::byte> here = of(stage);
  if (here.empty()) return {};
  std::vector<std::byte>& seen = seen_[stage];
  if (numbers != NumberType::kBFloat16) return memory.view(here, seen);
  std::vector<std::byte> scratch;
  if (seen.empty()) seen = widened_from_bfloat16(memory.view(here, scratch));
  return seen;
}

}  // namespace plumb
