#include "trainer/plan/memory_room.hpp"

#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "sim/memory/memory.hpp"
#include "tests/trainer/training_cases.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

std::int64_t peaks(const RunPlan& plan) {
  const MemoryModel model(plan.program);
  std::int64_t sum = 0;
  for (std::int32_t device = 0; device < plan.program.num_devices; ++device) sum += model.peak(DeviceId{device}).bytes;
  return sum;
}

}  // namespace

TEST_CASE("a run has room in exactly as much memory as its devices need at their peaks") {
  const TrainOptions options = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 4}, 7);
  const RunPlan plan(options);
  const std::int64_t bytes = peaks(plan);
  CHECK(why_no_room(plan, std::nullopt, bytes).empty());
  const std::string reason = why_no_room(plan, std::nullopt, bytes - 1);
  CHECK(reason.find("2 devices together need ") != std::string::npos);
  CHECK(reason.find("optimizer") != std::string::npos);
  CHECK(reason.find("; expected ") != std::string::npos);
  const std::int64_t first = MemoryModel(plan.program).peak(DeviceId{0}).bytes;
  CHECK(why_no_room(plan, DeviceId{0}, first).empty());
  CHECK(why_no_room(plan, DeviceId{0}, first - 1).find("device 0 need") != std::string::npos);
}

TEST_CASE("what would help is what makes the largest part smaller") {
  TrainOptions options = tiny_run("gpipe", {.num_devices = 2, .num_microbatches = 64}, 7);
  options.optimization.optimizer.kind = OptimizerKind::kSgd;
  const RunPlan many(options);
  CHECK(why_no_room(many, std::nullopt, 1).find("recomputation") != std::string::npos);
  TrainOptions few = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 1}, 7);
  few.optimization.optimizer.kind = OptimizerKind::kAdamW;
  const RunPlan plan(few);
  const std::string reason = why_no_room(plan, std::nullopt, 1);
  INFO(reason);
  CHECK(reason.find("recomputation") == std::string::npos);
}

}  // namespace plumb

TEST_SUITE_END();
