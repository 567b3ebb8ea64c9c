#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "tools/bench/bench_cases.hpp"

namespace plumb::bench {
namespace {

/// Most bytes per action that lowering and simulating need together, Program and result included.
void bytes_per_action(benchmark::State& state, bool with_transfers) {
  const Schedule schedule = schedule_of("1f1b", 256, 16384);
  const Cluster cluster = cluster_of(256);
  const StageCosts costs = with_transfers ? with_messages_and_memory(schedule) : compute_only(schedule);
  std::size_t actions = 1;
  reset_peak_bytes();
  const std::int64_t before = peak_bytes();
  for (auto _ : state) {
    const Program program = lower(schedule, costs, with_transfers ? &cluster : nullptr);
    benchmark::DoNotOptimize(simulate(program, {.spans = false}));
    actions = program.size();
  }
  state.counters["bytes/action"] = static_cast<double>(peak_bytes() - before) / static_cast<double>(actions);
}
BENCHMARK_CAPTURE(bytes_per_action, compute_only, false)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(bytes_per_action, transfers_and_memory, true)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace plumb::bench
