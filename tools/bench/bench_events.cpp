#include "schedules/lowering/lower.hpp"
#include "sim/events/event_engine.hpp"
#include "tools/bench/bench_cases.hpp"

namespace plumb::bench {
namespace {

/// 1F1B, P=64, M=8192 with transfers in the event-queue engine. A task is an action or a message.
void events(benchmark::State& state, bool shared) {
  const std::int64_t m = shared ? 512 : 8192;
  const Schedule schedule = schedule_of("1f1b", 64, m);
  const Cluster cluster = cluster_of(64, shared);
  const Program program = lower(schedule, with_messages_and_memory(schedule), &cluster);
  for (auto _ : state) benchmark::DoNotOptimize(run_events(program, {}));
  const auto tasks = static_cast<double>(program.size() + program.transfers.size());
  state.counters["tasks/s"] = benchmark::Counter(tasks, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK_CAPTURE(events, own_links, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(events, fair_share, true)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plumb::bench
