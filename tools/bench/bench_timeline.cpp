#include "models/ground/memory_reuse.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/passes/one_pass.hpp"
#include "sim/passes/plain_passes.hpp"
#include "sim/simulate.hpp"
#include "tools/bench/bench_cases.hpp"
#include "tools/bench/processor_time.hpp"

namespace plumb::bench {
namespace {

/// 1F1B, P=256, M=16384: every span with its idle cause, and the critical path, beside the bare engines in one run.
/// `engine` gives the start and end of every action, `totals` sums per lane. With range 1 what is freed is kept, as the
/// Python module does it; otherwise most of a timeline is the system's clearing of pages. (That lasts as long as the
/// process, so these come last.)
void timeline_beside_engines_256(benchmark::State& state) {
  const Schedule schedule = schedule_of("1f1b", 256, 16384);
  const Program program = lower(schedule, compute_only(schedule));
  if (state.range(0) == 1 && !keep_freed_memory()) state.SkipWithError("the allocator keeps nothing");
  const ProgramIndex indexed(program);
  benchmark::DoNotOptimize(simulate(program));  // so that there is something to keep
  double totals = 0;
  double engine = 0;
  double timeline = 0;
  for (auto _ : state) {
    totals += processor_s_of([&] { return run_totals(program); });
    engine += processor_s_of([&] { return run_one_pass(indexed, {}); });
    timeline += processor_s_of([&] { return simulate(program); });
  }
  const double actions = static_cast<double>(program.size()) * static_cast<double>(state.iterations());
  state.counters["totals/s"] = actions / totals;
  state.counters["engine/s"] = actions / engine;
  state.counters["timeline/s"] = actions / timeline;
  state.counters["timeline/engine"] = timeline / engine;
  state.counters["timeline/totals"] = timeline / totals;
}
BENCHMARK(timeline_beside_engines_256)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plumb::bench
