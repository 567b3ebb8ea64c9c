#include <string>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/simulate.hpp"
#include "tools/bench/bench_cases.hpp"

namespace plumb::bench {
namespace {

/// P=256, M=10^9 as a folded document: lowering what is kept of it included.
void billion(benchmark::State& state, std::string_view name, std::string_view cost) {
  const Schedule schedule = schedule_of(name, 256, 1'000'000'000 / 256 * 256);
  const StageCosts costs = abstract_costs(cost, "", {.num_stages = schedule.num_stages});
  for (auto _ : state) benchmark::DoNotOptimize(simulate_summary(schedule, costs));
}
BENCHMARK_CAPTURE(billion, 1f1b, "1f1b", "F=1,B=2")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(billion, 1f1b_latency, "1f1b", "F=1,B=2,comm=0.1")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(billion, gpipe, "gpipe", "F=1,B=2")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(billion, zb_h1, "zb-h1", "F=1,B=2")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plumb::bench
