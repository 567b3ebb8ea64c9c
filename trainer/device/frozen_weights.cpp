#include "trainer/device/frozen_weights.hpp"

#include <utility>
#include <vector>

#include "trainer/numbers/initial_weights.hpp"

namespace plumb {
namespace {

template <class T>
void write_values(const RunPlan& plan, const StageLayout& layout, Arena& arena, Block& block) {
  std::vector<T> values(static_cast<std::size_t>(block.bytes()) / sizeof(T));
  const std::span<const ParameterFacts> parameters(layout.frozen);
  fill_parameters(parameters, plan.options.model.seed, values.data());
  set_parameters(parameters, plan.options.model.initial_parameters, values.data());
  arena.memory().write(block.data(), std::as_bytes(std::span(values)));
  arena.memory().wait();
}

}  // namespace

void FrozenWeights::make(const RunPlan& plan, StageId stage, Arena& arena) {
  const StageLayout& layout = plan.layout(stage, 0);
  if (layout.frozen.empty() || blocks_.contains(stage)) return;
  Block block = arena.allocate(MemoryClass::kWeights, layout.memory.frozen_bytes);
  if (plan.options.model.numbers == NumberType::kFloat64) {
    write_values<double>(plan, layout, arena, block);
  } else {
    write_values<float>(plan, layout, arena, block);
  }
  blocks_.emplace(stage, std::move(block));
}

std::span<const std::byte> FrozenWeights::of(StageId stage) const {
  const auto found = blocks_.find(stage);
  return found == blocks_.end() ? std::span<const std::byte>{} : found->second.span();
}

}  // namespace plumb
