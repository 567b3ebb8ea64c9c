#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string_view>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/program/program.hpp"

// What the benchmarks run. Sizes and costs are those of the targets in results/bench/README.md.

namespace plumb::bench {

/// A schedule of the catalogue, repeat blocks folded.
Schedule schedule_of(std::string_view name, std::int32_t p, std::int64_t m, std::int32_t chunks = 1);

/// F=1, B=2 in abstract units, nothing between devices.
StageCosts compute_only(const Schedule& schedule);

/// F=1, B=2 and the bytes of a transformer block per stage; edges take a cluster's links.
StageCosts with_messages_and_memory(const Schedule& schedule);

/// `p` devices in one node, every pair with links of its own; `shared`: one bus for all.
Cluster cluster_of(std::int32_t p, bool shared = false);

/// Counters that the table reads: actions per second and ns per action.
void count_actions(benchmark::State& state, const Program& program);

/// Most bytes this process has had resident since `reset_peak_bytes`.
std::int64_t peak_bytes();
void reset_peak_bytes();

}  // namespace plumb::bench
