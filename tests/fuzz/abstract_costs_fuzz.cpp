#include <algorithm>

#include "models/sources/abstract_costs.hpp"
#include "tests/fuzz/promise.hpp"

/// The first line is `--cost`, the rest `--memory`: costs whose sums hold, or a refusal. Their text has no writer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const std::string_view text = testing::text_of(data, size);
  const std::size_t line = text.find('\n');
  const std::string_view memory = line == std::string_view::npos ? std::string_view() : text.substr(line + 1);
  const AbstractCostOptions options{.num_stages = 3, .stages_together = 3, .recompute = true};
  return testing::read_or_refuse(
      [&] { return abstract_costs(text.substr(0, line), memory, options); },
      [&](const StageCosts& costs) {
        testing::promise(costs.times.size() == 3, "times of three stages");
        testing::promise(costs.memory.size() == (memory.empty() ? 0 : 3), "memory of three stages, when given");
        testing::promise(costs.base.ticks_per_ns >= 1 && costs.comm >= 0, "a clock that runs forward");
        for (const StageTimes& times : costs.times) {
          testing::promise(times.f >= 0 && times.i >= 0 && times.w >= 0, "no negative times");
          testing::promise(times.b == times.i + times.w - std::min(times.i_comm.all, times.w),
                           "B = I + W, less what W hides");
        }
        for (const StageMemory& stage : costs.memory) {
          for (const StashTensor& tensor : stage.stash) testing::promise(tensor.bytes > 0, "tensors have a size");
        }
      });
}
