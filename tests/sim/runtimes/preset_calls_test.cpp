#include <doctest/doctest.h>

#include <optional>
#include <string_view>

#include "models/ground/error.hpp"
#include "sim/events/event_engine.hpp"
#include "sim/passes/one_pass.hpp"
#include "sim/runtimes/runtime_presets.hpp"
#include "tests/support/catalogue_walk.hpp"

// sim/SPECIFICATION.md, §5.7 and §11: both engines on what the presets make of the catalogue, with calls.

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using plumb::testing::smallest;

namespace {

/// Links between all pairs, and calls like those of the example in CLUSTER_DOCUMENT.md.
Cluster with_calls() {
  Cluster cluster;
  cluster.devices.resize(4);
  cluster.devices_per_node = 2;
  cluster.intra_node = {.latency_ns = 4'000, .bytes_per_s = 50e9};
  cluster.inter_node = {.latency_ns = 20'000, .bytes_per_s = 2e9};
  cluster.runtime = {.f_ns = 40'000, .b_ns = 60'000, .i_ns = 50'000, .w_ns = 30'000, .calls = {}};
  cluster.runtime.calls = {
      {.bytes = 4096, .send_ns = 190'000, .send_posted_ns = 220'000, .receive_ns = 120'000},
      {.bytes = 4'194'304, .send_ns = 200'000, .send_posted_ns = 1'500'000, .receive_ns = 150'000}};
  cluster.finish();
  return cluster;
}

/// Stages that take different times, and whole ones, so that moments coincide.
StageCosts costs_of(std::int32_t stages, std::int64_t message_bytes) {
  StageCosts costs;
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    const Ticks f = 1'000'000 + 250'000 * (stage % 3);
    costs.times.push_back({.f = f, .b = 2 * f, .i = f, .w = f, .u = 100'000});
  }
  costs.message_bytes = message_bytes;
  return costs;
}

/// The schedule as the system runs it; nothing where it cannot.
std::optional<Program> as_run_by(const RuntimePreset& preset, Schedule schedule, std::int64_t message_bytes) {
  const Cluster cluster = with_calls();
  try {
    StageCosts costs = costs_of(schedule.num_stages, message_bytes);
    run_as(preset, schedule, costs);
    return lower(schedule, costs, &cluster, lowering_of(preset));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("§5.7: both engines agree on every schedule of the catalogue with calls, as every system runs it") {
  for (const std::string_view name : runtime_names()) {
    CAPTURE(name);
    int runs = 0;
    for (const ScheduleSpec& spec : schedule_catalogue()) {
      CAPTURE(spec.name);
      const auto schedule = smallest(spec, {.num_devices = 4, .num_microbatches = 8});
      if (!schedule || schedule->policy) continue;
      const RuntimePreset& preset = runtime_preset(name, *schedule);
      for (const std::int64_t message_bytes : {4096, 2'000'000}) {
        const auto program = as_run_by(preset, *schedule, message_bytes);
        if (!program || !program->runtime.has_calls()) continue;
        SimOptions options;
        options.transfers = preset.transfers;
        REQUIRE_FALSE(why_not_one_pass(*program, options));
        const auto by_events = run_events(*program, options);
        CHECK(run_one_pass(ProgramIndex(*program), options) == by_events);
        runs += by_events ? 1 : 0;
      }
    }
    CHECK(runs >= 100);
  }
}

TEST_CASE(
    "the systems that are built on Megatron run as it does, PyTorch's older names as PyTorch, others as themselves") {
  for (const char* name : {"megatroncore", "megatronbridge", "mcore", "nemo", "primus", "megatronlm"}) {
    CHECK(runtime_called(name) == "megatron");
  }
  for (const char* name : {"torch", "pippy"}) CHECK(runtime_called(name) == "pytorch");
  for (const char* name : {"", "deepspeed", "megatron", "unknown"}) CHECK(runtime_called(name) == name);
}

TEST_SUITE_END();
