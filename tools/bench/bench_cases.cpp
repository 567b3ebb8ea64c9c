#include "tools/bench/bench_cases.hpp"

#include <fstream>
#include <string>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"

namespace plumb::bench {

Schedule schedule_of(std::string_view name, std::int32_t p, std::int64_t m, std::int32_t chunks) {
  return generate(name, {.num_devices = p, .num_microbatches = m, .chunks = chunks, .updates = 1, .options = {}});
}

StageCosts compute_only(const Schedule& schedule) {
  return abstract_costs("F=1,B=2", "", {.num_stages = schedule.num_stages});
}

StageCosts with_messages_and_memory(const Schedule& schedule) {
  StageCosts costs = compute_only(schedule);
  costs.comm.reset();
  StageMemory memory;
  memory.weight_bytes = 1 << 20;
  memory.gradient_bytes = 1 << 20;
  memory.optimizer_bytes = 2 << 20;
  memory.stash = {{"kept for I", 3 << 10, StashTensor::MadeBy::kForward, LastUse::kInputGrad},
                  {"kept for W", 5 << 10, StashTensor::MadeBy::kForward, LastUse::kWeightGrad}};
  memory.input_bytes = memory.output_bytes = memory.output_grad_bytes = memory.input_grad_bytes = 1 << 10;
  memory.input_last_use = LastUse::kWeightGrad;
  memory.workspace_f_bytes = memory.workspace_b_bytes = 1 << 9;
  costs.memory.assign(static_cast<std::size_t>(schedule.num_stages), memory);
  return costs;
}

Cluster cluster_of(std::int32_t p, bool shared) {
  Cluster cluster;
  cluster.name = "bench";
  cluster.devices.assign(static_cast<std::size_t>(p), DeviceSpec{});
  cluster.devices_per_node = p;
  cluster.intra_node = {.latency_ns = 10'000, .bytes_per_s = 100e6, .shared = shared};
  cluster.inter_node = cluster.intra_node;
  cluster.finish();
  return cluster;
}

void count_actions(benchmark::State& state, const Program& program) {
  const auto actions = static_cast<double>(program.size());
  state.counters["actions/s"] = benchmark::Counter(actions, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["s/action"] =
      benchmark::Counter(actions, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return 0;
}

void reset_peak_bytes() { std::ofstream("/proc/self/clear_refs") << 5; }

}  // namespace plumb::bench
