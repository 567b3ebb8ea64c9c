#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "tools/bench/bench_cases.hpp"

namespace plumb::bench {
namespace {

constexpr SimOptions kMakespanOnly{.spans = false, .memory_curve = false, .idle_causes = false, .critical_path = false};
constexpr SimOptions kSummary{.spans = false, .memory_curve = false, .critical_path = false};

Program one_f_one_b(std::int32_t p, std::int64_t m) {
  const Schedule schedule = schedule_of("1f1b", p, m);
  return lower(schedule, compute_only(schedule));
}

void run(benchmark::State& state, const Program& program, const SimOptions& options) {
  for (auto _ : state) benchmark::DoNotOptimize(simulate(program, options));
  count_actions(state, program);
}

/// 1F1B, P=256, M=16384: makespan, bubbles, peak stash.
void makespan_256(benchmark::State& state) { run(state, one_f_one_b(256, 16384), kMakespanOnly); }
BENCHMARK(makespan_256)->Unit(benchmark::kMillisecond);

/// The same with the idle causes of every device.
void summary_256(benchmark::State& state) { run(state, one_f_one_b(256, 16384), kSummary); }
BENCHMARK(summary_256)->Unit(benchmark::kMillisecond);

/// The same with every span and its idle cause, and the critical path.
void timeline_256(benchmark::State& state) { run(state, one_f_one_b(256, 16384), {}); }
BENCHMARK(timeline_256)->Unit(benchmark::kMillisecond);

/// 1F1B, P=16, from 10^4 to 10^7 actions (2 x 16 per microbatch): makespan only.
void growth_16(benchmark::State& state) { run(state, one_f_one_b(16, state.range(0) / 32), kMakespanOnly); }
BENCHMARK(growth_16)->RangeMultiplier(10)->Range(10'000, 10'000'000);

/// What making the Program of `makespan_256` costs.
void lowering_256(benchmark::State& state) {
  const Schedule schedule = schedule_of("1f1b", 256, 16384);
  const StageCosts costs = compute_only(schedule);
  for (auto _ : state) benchmark::DoNotOptimize(lower(schedule, costs));
  count_actions(state, lower(schedule, costs));
}
BENCHMARK(lowering_256)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plumb::bench
