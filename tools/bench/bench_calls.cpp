#include <string_view>

#include "schedules/lowering/lower.hpp"
#include "sim/events/event_engine.hpp"
#include "sim/passes/one_pass.hpp"
#include "tools/bench/bench_cases.hpp"
#include "tools/bench/processor_time.hpp"

namespace plumb::bench {
namespace {

/// P=64, M=2048 with host and calls that occupy the lanes: both engines in one run. A task is an action or a message;
/// `pass/free` compares with the pass engine on the same program without calls.
void calls(benchmark::State& state, std::string_view name, TransferMode mode, ReceivePlacement receives) {
  const Schedule schedule = schedule_of(name, 64, 2048);
  const Cluster cluster = cluster_of(64);
  StageCosts costs = with_messages_and_memory(schedule);
  const auto program_with = [&](const std::vector<CallCosts>& calls) {
    costs.runtime = {.f_ns = 20'000, .b_ns = 30'000, .i_ns = 20'000, .w_ns = 10'000, .calls = calls};
    return lower(schedule, costs, &cluster, {.receives = receives});
  };
  const Program program = program_with({{.send_ns = 60'000, .send_posted_ns = 90'000, .receive_ns = 20'000}});
  const Program without = program_with({});
  const ProgramIndex indexed(program);
  const ProgramIndex indexed_without(without);
  SimOptions options;
  options.transfers = mode;
  double events = 0;
  double pass = 0;
  double free = 0;
  for (auto _ : state) {
    events += processor_s_of([&] { return run_events(program, options); });
    pass += processor_s_of([&] { return run_one_pass(indexed, options); });
    free += processor_s_of([&] { return run_one_pass(indexed_without, options); });
  }
  const double tasks =
      static_cast<double>(program.size() + program.transfers.size()) * static_cast<double>(state.iterations());
  state.counters["events_tasks/s"] = tasks / events;
  state.counters["pass_tasks/s"] = tasks / pass;
  state.counters["events/pass"] = events / pass;
  state.counters["pass/free"] = pass / free;
}
BENCHMARK_CAPTURE(calls, rendezvous, "1f1b", TransferMode::kRendezvous, ReceivePlacement::kAhead)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(calls, batched, "1f1b", TransferMode::kBatched, ReceivePlacement::kLate)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(calls, split_backwards, "zb-h1", TransferMode::kRendezvous, ReceivePlacement::kOnSend)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plumb::bench
