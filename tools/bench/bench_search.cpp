#include <benchmark/benchmark.h>

#include <string_view>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"

namespace plumb::bench {
namespace {

/// Times of the 28.3 B model of the zero-bubble paper, of one stage of `parts` to a device.
ScheduleParams params(std::int32_t p, std::int64_t m, std::int32_t parts) {
  const auto costs = [parts](std::int32_t num_stages) {
    return abstract_costs("F=10.402,I=10.248,W=7.698,comm=0.46", "F=2,I=-1,W=-1",
                          {.num_stages = num_stages, .stages_together = parts});
  };
  return {.num_devices = p, .num_microbatches = m, .costs = costs};
}

void generates(benchmark::State& state, std::string_view name, const ScheduleParams& with) {
  for (auto _ : state) benchmark::DoNotOptimize(generate(name, with));
}

/// The automatic zero-bubble heuristic with all its hyper-parameters, P=32, M=256.
void zb_1p_32(benchmark::State& state) { generates(state, "zb-1p", params(32, 256, 1)); }
BENCHMARK(zb_1p_32)->Unit(benchmark::kMillisecond);
void zb_2p_32(benchmark::State& state) { generates(state, "zb-2p", params(32, 256, 1)); }
BENCHMARK(zb_2p_32)->Unit(benchmark::kMillisecond);

/// With the local search that follows: P=32, M=256, and P=4, M=8, which a short branch and bound decides.
void zb_auto(benchmark::State& state) {
  const auto devices = static_cast<std::int32_t>(state.range(0));
  ScheduleParams with = params(devices, state.range(1), 1);
  with.memory_limit = static_cast<double>(devices);
  generates(state, "zb-auto", with);
}
BENCHMARK(zb_auto)->Args({32, 256})->Args({4, 8})->Unit(benchmark::kMillisecond);

/// The ZB-V heuristic, P=32, M=96.
void zb_v_search_32(benchmark::State& state) {
  ScheduleParams with = params(32, 96, 2);
  with.options = {{"order", "search"}};
  generates(state, "zb-v", with);
}
BENCHMARK(zb_v_search_32)->Unit(benchmark::kMillisecond);

/// Greedy unrolling of a building block, P=32, M=96.
void v_half_32(benchmark::State& state) { generates(state, "v-half", params(32, 96, 2)); }
BENCHMARK(v_half_32)->Unit(benchmark::kMillisecond);
void v_min_32(benchmark::State& state) { generates(state, "v-min", params(32, 96, 2)); }
BENCHMARK(v_min_32)->Unit(benchmark::kMillisecond);

/// Adaptive search over building blocks, P=16, M=48, with as many half stashes as the argument.
void v_auto_16(benchmark::State& state) {
  ScheduleParams with = params(16, 48, 2);
  with.memory_limit = static_cast<double>(state.range(0));
  generates(state, "v-auto", with);
}
BENCHMARK(v_auto_16)->Arg(12)->Arg(20)->Arg(32)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plumb::bench
