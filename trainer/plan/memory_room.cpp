#include "trainer/plan/memory_room.hpp"

#include <array>
#include <cstdio>

#include "models/ground/available_memory.hpp"
#include "models/ground/error.hpp"
#include "sim/memory/memory.hpp"

namespace plumb {
namespace {

std::string gibibytes_text(std::int64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f GiB", static_cast<double>(bytes) / static_cast<double>(1U << 30U));
  return text.data();
}

std::int64_t of_class(const MemoryByClass& bytes, MemoryClass cls) { return bytes[static_cast<std::size_t>(cls)]; }

/// What devices need at their peaks, together.
struct NeededMemory {
  std::int64_t bytes = 0;
  MemoryByClass by_class{};

  std::int64_t weights() const {
    return of_class(by_class, MemoryClass::kWeights) + of_class(by_class, MemoryClass::kWeightVersions);
  }
  std::int64_t gradients() const { return of_class(by_class, MemoryClass::kGradients); }
  std::int64_t optimizer() const { return of_class(by_class, MemoryClass::kOptimizer); }
  /// Grows with the samples of a microbatch.
  std::int64_t activations() const { return bytes - weights() - gradients() - optimizer(); }
};

NeededMemory needed(const RunPlan& plan, std::optional<DeviceId> own) {
  const MemoryModel model(plan.program);
  NeededMemory sum;
  for (std::int32_t number = 0; number < plan.program.num_devices; ++number) {
    if (own && index(*own) != static_cast<std::size_t>(number)) continue;
    const MemoryPeak peak = model.peak(DeviceId{number});
    sum.bytes += peak.bytes;
    for (std::size_t cls = 0; cls < kMemoryClassCount; ++cls) sum.by_class[cls] += peak.by_class[cls];
  }
  return sum;
}

/// Returns what makes the largest part smaller.
std::string remedy(const NeededMemory& need) {
  if (need.activations() > need.bytes / 2) {
    return "fewer or shorter samples in a microbatch, recomputation, or a schedule that keeps fewer microbatches";
  }
  if (need.optimizer() > need.weights())
    return "a smaller network, an optimizer that keeps less, or processes on several machines";
  return "a smaller network, or processes on several machines";
}

}  // namespace

std::string why_no_room(const RunPlan& plan, std::optional<DeviceId> own, std::int64_t available) {
  const NeededMemory need = needed(plan, own);
  if (need.bytes <= available) return {};
  const std::string devices =
      own ? "device " + std::to_string(index(*own)) : std::to_string(plan.program.num_devices) + " devices together";
  return "train '" + plan.options.schedule.name + "': " + devices + " need " + gibibytes_text(need.bytes) +
         " of memory (weights " + gibibytes_text(need.weights()) + ", gradients " + gibibytes_text(need.gradients()) +
         ", optimizer " + gibibytes_text(need.optimizer()) + ", activations " + gibibytes_text(need.activations()) +
         "), and this process can get " + gibibytes_text(available) + "; expected " + remedy(need);
}

void check_room(const RunPlan& plan, std::optional<DeviceId> own) {
  if (plan.backend.only_streams || plan.backend.paced) return;
  const std::optional<std::int64_t> available = available_memory();
  if (!available) return;
  if (const std::string reason = why_no_room(plan, own, *available); !reason.empty()) throw Error(reason);
}

}  // namespace plumb
