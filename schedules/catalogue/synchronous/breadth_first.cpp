#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

/// Writes one device's step, one chunk after the other.
struct ChunkWriter {
  ListBuilder& list;
  std::int32_t device;
  std::int32_t num_devices;
  std::int32_t chunks;
  bool fifo;

  StageId stage(std::int32_t chunk) const { return StageId{chunk * num_devices + device}; }

  /// Every `stride`-th microbatch from `first`, `count` in all, forwards through all chunks and back.
  void pass(std::int64_t first, std::int64_t count, std::int64_t stride) const {
    const auto step = static_cast<std::int32_t>(stride);
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
      list.repeat(count, {.microbatch = step}, [&] { list.add(stage(chunk), Op::kF, first); });
    }
    const std::int64_t back = fifo ? first : first + (count - 1) * stride;
    for (std::int32_t chunk = chunks; chunk-- > 0;) {
      list.repeat(count, {.microbatch = fifo ? step : -step}, [&] { list.add(stage(chunk), Op::kB, back); });
    }
  }

  void step(std::int64_t m, std::int64_t passes) const {
    const std::int64_t longer = m % passes;  // the first passes take one microbatch more
    list.each(longer, [&] { pass(0, m / passes + 1, passes); });
    list.each(passes - longer, [&] { pass(longer, m / passes, passes); });
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) list.add(stage(chunk), Op::kU, 0);
  }
};

}  // namespace

/// Looped placement, stage = chunk * p + device; each chunk runs all microbatches before the device moves to its next
/// chunk, so that the weights of a chunk are touched in two periods and its gradient is complete early. Every device
/// keeps the activations of all m microbatches. `passes=D` (Fast-LLM's depth-first microbatches) runs every D-th
/// microbatch through all chunks and back, D times: m / D activations at most, D bubbles. `order=reverse` takes the
/// backwards of a chunk from the last, as PyTorch's LoopedBFS does. Any p and m.
/// (Lamy-Poirier, Breadth-First Pipeline Parallelism, arXiv 2211.05953; ServiceNow/Fast-LLM,
/// engine/schedule/schedule.py)
///
///   p = 2, v = 2, m = 3
///   d0: 0F0 0F1 0F2 2F0 2F1 2F2 2B0 2B1 2B2 0B0 0B1 0B2 0U0 2U0
///   d1: 1F0 1F1 1F2 3F0 3F1 3F2 3B0 3B1 3B2 1B0 1B1 1B2 1U0 3U0
Schedule breadth_first(const ScheduleParams& params) {
  const std::int32_t chunks = params.chunks > 0 ? params.chunks : 2;
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  const std::int64_t passes = whole_number("breadth-first", params, "passes", 1);
  require(passes <= m, "breadth-first",
          "passes (" + std::to_string(passes) + ") must be at most num_microbatches (" + std::to_string(m) + ")");
  const std::string order = choice("breadth-first", params, "order", {"fifo", "reverse"});
  Schedule schedule = looped_schedule("breadth-first", params, chunks, updates);
  schedule.parameters["order"] = order;
  if (passes > 1) schedule.parameters["passes"] = passes;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      ChunkWriter{list, d, params.num_devices, chunks, order == "fifo"}.step(m, passes);
    }));
  }
  return schedule;
}

}  // namespace plumb
