#include "schedules/lowering/lower.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/costs/check_costs.hpp"
#include "models/ground/error.hpp"
#include "schedules/lowering/lower_state.hpp"
#include "schedules/lowering/send_waits.hpp"
#include "schedules/lowering/time_limit.hpp"
#include "schedules/versions/method_buffers.hpp"
#include "schedules/versions/weight_versions.hpp"

namespace plumb {
namespace lowering {
namespace {

constexpr std::int64_t kMaxInstrs = std::numeric_limits<std::int32_t>::max() - 1;

[[noreturn]] void refuse_to_lower(const Schedule& schedule, const std::string& what) {
  throw Error("schedule '" + schedule.name + "': " + what);
}

/// What neither executor can honour.
void check_supported(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster) {
  if (costs.times.size() != static_cast<std::size_t>(schedule.num_stages)) {
    refuse_to_lower(schedule, "costs of " + std::to_string(costs.times.size()) + " stages given; expected " +
                                  std::to_string(schedule.num_stages));
  }
  if (!costs.memory.empty() && costs.memory.size() != costs.times.size()) {
    refuse_to_lower(schedule, "memory of " + std::to_string(costs.memory.size()) + " stages given; expected " +
                                  std::to_string(schedule.num_stages));
  }
  if (cluster != nullptr && cluster->devices.size() < static_cast<std::size_t>(schedule.num_devices)) {
    refuse_to_lower(schedule, "needs " + std::to_string(schedule.num_devices) + " devices; the cluster '" +
                                  cluster->name + "' has " + std::to_string(cluster->devices.size()));
  }
  if (const std::string fault = segment_fault(schedule); !fault.empty()) refuse_to_lower(schedule, fault);
}

/// In a chain a stage of a network takes what the one before it gives. A graph may say otherwise; then messages would
/// be empty, and values freed that nobody made.
void check_edge_sizes(const Schedule& schedule, const StageCosts& costs) {
  if (!schedule.stage_edges || !costs.from_network || costs.memory.empty()) return;
  const auto refuse = [&](const std::string& what) {
    refuse_to_lower(schedule, "stage_edges: " + what + "; expected edges that follow the layers of the network");
  };
  const auto bytes = [](std::int64_t size) { return std::to_string(size) + " bytes"; };
  const auto name = [](StageId stage) { return "stage " + std::to_string(index(stage)); };
  std::vector<bool> takes(costs.memory.size(), false);
  std::vector<bool> gives(costs.memory.size(), false);
  for (const auto& [from, to] : *schedule.stage_edges) {
    gives[index(from)] = takes[index(to)] = true;
    const StageMemory& giver = costs.memory[index(from)];
    const StageMemory& taker = costs.memory[index(to)];
    if (giver.output_bytes == taker.input_bytes && giver.output_grad_bytes == taker.input_grad_bytes) continue;
    refuse(name(from) + " gives " + bytes(giver.output_bytes) + " to " + name(to) + ", which takes " +
           bytes(taker.input_bytes));
  }
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    const StageMemory& memory = costs.memory[static_cast<std::size_t>(stage)];
    const std::int64_t input = std::max(memory.input_bytes, memory.input_grad_bytes);
    const std::int64_t output = std::max(memory.output_bytes, memory.output_grad_bytes);
    if (!takes[static_cast<std::size_t>(stage)] && input > 0) {
      refuse("none leads to " + name(StageId{stage}) + ", which takes " + bytes(input));
    }
    if (!gives[static_cast<std::size_t>(stage)] && output > 0) {
      refuse("none leads on from " + name(StageId{stage}) + ", which gives " + bytes(output));
    }
  }
}

/// The size is checked before anything is expanded, so that an absurd document costs nothing.
void check_expanded_size(const Schedule& schedule) {
  std::int64_t total = 0;
  for (const DeviceList& list : schedule.devices) {
    const std::int64_t size = expanded_size(list);
    if (size > kMaxInstrs - total)
      refuse_to_lower(schedule, "expands to more than " + std::to_string(kMaxInstrs) + " actions");
    total += size;
  }
  const std::int64_t stages = schedule.num_stages;
  if (stages > 0 && schedule.num_microbatches > total * 256 / stages) {
    refuse_to_lower(schedule, std::to_string(schedule.num_microbatches) + " microbatches in " + std::to_string(total) +
                                  " actions; expected an action of every stage and microbatch");
  }
}

/// Work of a microbatch of mean size; that of the largest one is given.
WorkUnits mean_work(WorkUnits work, const std::vector<std::int64_t>& sizes) {
  if (sizes.empty()) return work;
  const double sum = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  const auto largest = static_cast<double>(*std::max_element(sizes.begin(), sizes.end()));
  const double share = sum / (largest * static_cast<double>(sizes.size()));
  work.tokens_per_microbatch = std::llround(share * static_cast<double>(work.tokens_per_microbatch));
  work.model_flops_per_microbatch *= share;
  return work;
}

void describe(State& state) {
  const Schedule& schedule = state.schedule;
  Program& program = state.program;
  program.base = state.costs.base;
  program.num_devices = schedule.num_devices;
  program.num_stages = schedule.num_stages;
  program.num_microbatches = schedule.num_microbatches;
  program.microbatches_per_update = schedule.microbatches_per_update;
  program.forward_only = schedule.forward_only;
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    if (!schedule.is_synchronous(StageId{stage})) program.asynchronous = true;
  }
  program.parts = state.parts;
  program.segments = segment_places(schedule);
  program.memory = state.costs.memory;
  if (!program.memory.empty()) program.part_memory = state.part_costs.memory();
  program.memory_units_per_one = state.costs.memory_units_per_one;
  if (!state.has_transfers()) program.comm = state.costs.comm;
  program.work = mean_work(state.costs.work, schedule.microbatch_sizes);
  if (state.cluster == nullptr) return;
  program.shared_links = state.cluster->shared_links;
  program.contention = state.cluster->contention;
  program.devices_per_node = state.cluster->devices_per_node;
  program.device_specs.assign(state.cluster->devices.begin(), state.cluster->devices.begin() + schedule.num_devices);
}

/// Those of the costs; without any those of the cluster.
const RuntimeCosts& runtime_costs(const State& state) {
  const bool known = state.cluster == nullptr || state.costs.runtime != RuntimeCosts{};
  return known ? state.costs.runtime : state.cluster->runtime;
}

/// Copies to another memory take no calls.
void add_calls(State& state) {
  const std::vector<CallCosts>& costs = runtime_costs(state).calls;
  Program& program = state.program;
  const std::int64_t per_ns = state.costs.base.ticks_per_ns;
  const auto takes_time = [](const CallCosts& c) { return c.send_ns + c.send_posted_ns + c.receive_ns > 0; };
  if (!state.has_transfers() || std::ranges::none_of(costs, takes_time)) return;
  program.runtime.calls.resize(program.transfers.size());
  for (std::uint32_t transfer = 0; transfer < program.transfers.size(); ++transfer) {
    if (program.is_move(transfer)) continue;
    const CallCosts call = calls_of(costs, program.transfers[transfer].bytes);
    program.runtime.calls[transfer] = {call.send_ns * per_ns, call.send_posted_ns * per_ns, call.receive_ns * per_ns};
  }
}

/// Requires all rows and transfers.
void add_runtime(State& state) {
  const RuntimeCosts& costs = runtime_costs(state);
  if (costs == RuntimeCosts{}) return;
  const std::int64_t per_ns = state.costs.base.ticks_per_ns;
  RuntimeTicks& runtime = state.program.runtime;
  for (const Row& row : state.program.rows) {
    const bool forward = row.op == Op::kF || row.op == Op::kR;
    const std::int64_t ns = forward            ? costs.f_ns
                            : row.op == Op::kB ? costs.b_ns
                            : row.op == Op::kI ? costs.i_ns
                            : row.op == Op::kW ? costs.w_ns
                                               : 0;
    runtime.host.push_back(ns * per_ns);
  }
  add_calls(state);
}

/// What `go_on` makes of the checked schedule and its holders, before any list is unfolded.
template <class GoOn>
auto with_holders(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster,
                  const LowerOptions& options, GoOn go_on) {
  check_supported(schedule, costs, cluster);
  check_costs(costs);
  check_edge_sizes(schedule, costs);
  check_expanded_size(schedule);
  const StageCosts whole = with_whole_extras(with_whole_shares(costs, PartTable(schedule)), schedule.extras);
  State state(schedule, whole, cluster, options);
  describe(state);
  add_holders(state);
  note_validations(state);
  return go_on(state);
}

/// The program of a state whose holders are there.
Program unfolded(State& state) {
  add_lanes(state);
  add_collectives(state);
  if (state.adds_validations) find_validation_waits(state);
  if (state.has_moves) find_load_waits(state);
  add_waits(state);
  if (state.has_transfers()) add_transfers(state);
  if (state.has_moves) add_moves(state);
  add_common_starts(state);
  if (state.has_transfers()) {
    if (!runs_by_rendezvous(state.program)) put_off_send_waits(state.program);
    const std::int32_t most = most_send_buffers(state.program);
    if (most != 0) state.program.send_buffers.asked = std::max(1, state.options.send_buffers);
    state.program.send_buffers.used = most;
  }
  if (state.program.asynchronous) {
    WeightVersions versions = weight_versions(state.schedule, state.program);
    state.program.version_read = std::move(versions.read);
    state.program.kept_versions = std::move(versions.kept);
  } else if (state.validates) {
    keep_for_rollback(state);
  }
  count_correction_buffers(state.schedule, state.program);
  count_gradient_blocks(state);
  add_runtime(state);
  check_time(state.program, "schedule '" + state.schedule.name + "'");
  return std::move(state.program);
}

}  // namespace

}  // namespace lowering

Program lower(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster, const LowerOptions& options) {
  return lowering::with_holders(schedule, costs, cluster, options,
                                [](lowering::State& state) { return lowering::unfolded(state); });
}

std::optional<WrittenProgram> lower_written(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster,
                                            const LowerOptions& options) {
  using Written = std::optional<WrittenProgram>;
  return lowering::with_holders(schedule, costs, cluster, options, [](lowering::State& state) -> Written {
    if (lowering::runtime_costs(state) != RuntimeCosts{}) return std::nullopt;
    return lowering::written_lanes(state);
  });
}

}  // namespace plumb
