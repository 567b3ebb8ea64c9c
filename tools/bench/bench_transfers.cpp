#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "tools/bench/bench_cases.hpp"

namespace plumb::bench {
namespace {

Program with_transfers(std::string_view name, std::int32_t chunks) {
  const Schedule schedule = schedule_of(name, 64, 512, chunks);
  const Cluster cluster = cluster_of(64);
  return lower(schedule, with_messages_and_memory(schedule), &cluster);
}

/// P=64, M=512, transfers as tasks, memory timeline, spans and idle causes.
void tasks(benchmark::State& state, std::string_view name, std::int32_t chunks) {
  const Program program = with_transfers(name, chunks);
  for (auto _ : state) benchmark::DoNotOptimize(simulate(program));
  count_actions(state, program);
}
BENCHMARK_CAPTURE(tasks, 1f1b, "1f1b", 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tasks, interleaved, "interleaved", 2)->Unit(benchmark::kMillisecond);

/// The same without spans: makespan, bubbles, causes and the memory timeline.
void tasks_no_spans(benchmark::State& state, std::string_view name, std::int32_t chunks) {
  const Program program = with_transfers(name, chunks);
  for (auto _ : state) benchmark::DoNotOptimize(simulate(program, {.spans = false}));
  count_actions(state, program);
}
BENCHMARK_CAPTURE(tasks_no_spans, 1f1b, "1f1b", 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tasks_no_spans, interleaved, "interleaved", 2)->Unit(benchmark::kMillisecond);

void lowering_tasks(benchmark::State& state, std::string_view name, std::int32_t chunks) {
  const Schedule schedule = schedule_of(name, 64, 512, chunks);
  const StageCosts costs = with_messages_and_memory(schedule);
  const Cluster cluster = cluster_of(64);
  for (auto _ : state) benchmark::DoNotOptimize(lower(schedule, costs, &cluster));
}
BENCHMARK_CAPTURE(lowering_tasks, 1f1b, "1f1b", 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lowering_tasks, interleaved, "interleaved", 2)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plumb::bench
