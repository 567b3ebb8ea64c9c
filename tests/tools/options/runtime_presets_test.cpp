#include "sim/runtimes/runtime_presets.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/text_file.hpp"
#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/runnability/deadlock.hpp"
#include "sim/prediction/predict.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb;
using plumb::testing::error_message;

namespace {

Schedule eight_on_four(const std::string& name) { return generate(name, {.num_devices = 4, .num_microbatches = 8}); }

PricedPipeline unit_costs(const Schedule& schedule) {
  PricedPipeline input;
  input.costs = abstract_costs("F=1,I=1,W=1", "", {.num_stages = schedule.num_stages});
  return input;
}

CostSource traced_by(const std::string& runtime) {
  RunProfile profile;
  profile.runtime = runtime;
  return {.kind = std::move(profile)};
}

/// As the system runs it, with a unit for every pass.
PreparedRun run_by(const std::string& runtime, const Schedule& schedule) {
  return prepare_run(schedule, unit_costs(schedule), {}, {.runtime = runtime});
}

}  // namespace

TEST_CASE("every system runs its own schedules to their end") {
  Cluster cluster;
  cluster.devices.resize(4);
  cluster.devices_per_node = 4;
  cluster.intra_node.bytes_per_s = 1e9;
  cluster.finish();
  std::set<std::string> names;
  for (const RuntimePreset& preset : runtime_presets()) names.emplace(preset.name);
  CHECK(names.size() == 9);
  for (const std::string& name : names) {
    const RunRules rules{.runtime = name};
    for (const char* of : {"gpipe", "1f1b", "interleaved"}) {
      CAPTURE(name);
      CAPTURE(of);
      const Schedule schedule = eight_on_four(of);
      const bool alone = name == "pytorch-single" || name == "deepspeed";
      if (alone && schedule.num_stages > schedule.num_devices) continue;
      StageCosts costs = unit_costs(schedule).costs;
      costs.comm.reset();
      const Program program = lower(schedule, costs, &cluster, rules.lowering(schedule));
      CHECK(describe_deadlock(program, rules.simulation(schedule).transfers) == "");
    }
  }
}

TEST_CASE("without a name it is plumbline; a profile of a traced run brings its own; an unknown one is refused") {
  const Schedule schedule = eight_on_four("1f1b");
  CHECK(runtime_preset("", schedule).name == "plumbline");
  const CostSource source = traced_by("pytorch");
  const PreparedRun traced = prepare_run(schedule, unit_costs(schedule), source, {});
  CHECK(traced.rules.runtime == "pytorch");
  CHECK(traced.priced.description.empty());
  const PreparedRun asked = prepare_run(schedule, unit_costs(schedule), source, {.runtime = "megatron"});
  CHECK(asked.rules.runtime == "megatron");
  CHECK(asked.priced.description.empty());
  CHECK(error_message([&] { runtime_preset("pytorsch", schedule); }).find("'pytorch'") != std::string::npos);
}

TEST_CASE("after a run of PyTorch's class 1F1B, only what such a class makes is run by one; the rest is said to be") {
  const CostSource source = traced_by("pytorch-single");
  const auto traced = [&](const char* name) {
    const Schedule schedule = eight_on_four(name);
    PricedPipeline priced = unit_costs(schedule);
    priced.description = "as traced";
    return prepare_run(schedule, std::move(priced), source, {});
  };
  for (const char* name : {"1f1b", "gpipe", "torch-1f1b", "torch-gpipe"}) {
    CAPTURE(name);
    CHECK(traced(name).rules.runtime == "pytorch-single");
    CHECK(traced(name).priced.description == "as traced");
  }
  for (const char* name : {"zb-h1", "interleaved", "eager-1f1b", "hanayo"}) {
    CAPTURE(name);
    CHECK(traced(name).rules.runtime == "pytorch");
    CHECK(traced(name).priced.description ==
          "as traced; run by pytorch, because pytorch-single runs only 1F1B and GPipe");
  }
}

TEST_CASE("deferred receives come just before what takes them, and orders whose messages they exchange are refused") {
  const Schedule schedule = run_by("pytorch-deferred", eight_on_four("interleaved")).schedule;
  const auto& actions = schedule.devices[1].actions;
  const auto receive = std::ranges::find(actions, Op::kRecvF, &Action::op);
  REQUIRE(receive != actions.end());
  CHECK((receive + 1)->op == Op::kF);
  CHECK((receive + 1)->microbatch == receive->microbatch);
  // What PyTorch 2.14.1 computes wrong gradients with (results/fidelity/pytorch-examples).
  const Schedule mixed = generate("torch-zbv", {.num_devices = 4, .num_microbatches = 8});
  CHECK(error_message([&] { run_by("pytorch-deferred", mixed); }).find("for each other") != std::string::npos);
}

TEST_CASE("Megatron-LM that hides no messages exchanges all of them between two turns of a rank") {
  const Schedule schedule =
      run_by("megatron-batched", generate("interleaved", {.num_devices = 2, .num_microbatches = 2})).schedule;
  std::string order;
  for (const Action& action : schedule.devices[1].actions) {
    if (action.op != Op::kU) append_text(order += ' ', action);
  }
  // The second of two ranks warms up with two forwards; then a forward and a backward are one turn.
  CHECK(order ==
        " 1RECV_F0 1F0 1RECV_F1 1SEND_F0 1F1 3RECV_F0 1SEND_F1 3F0 3B0 3SEND_B0 3RECV_F1 3F1 3B1 3SEND_B1 1RECV_B0 1B0 "
        "1SEND_B0 1RECV_B1 1B1 1SEND_B1");
  // With one stage per rank the results of a forward are sent before the backward, as under `megatron`.
  CHECK(run_by("megatron-batched", eight_on_four("1f1b")).schedule == eight_on_four("1f1b"));
}

TEST_CASE("PyTorch's class GPipe waits for its sends when all forwards are done, its class 1F1B for each one") {
  for (const char* name : {"pytorch-single", "torchtitan"}) {
    CAPTURE(name);
    CHECK(runtime_preset(name, eight_on_four("torch-gpipe")).transfers == TransferMode::kRendezvous);
    CHECK(runtime_preset(name, eight_on_four("torch-gpipe")).send_buffers > 8);
    // Another order with one stage per rank is no class's: pytorch-single is what somebody asked for, torchtitan reads
    // it.
    CHECK((runtime_preset(name, eight_on_four("zb-h1")).send_buffers == 1) == (std::string(name) == "pytorch-single"));
    const Schedule updates = generate("gpipe", {.num_devices = 4, .num_microbatches = 8, .updates = 3});
    CHECK(runtime_preset(name, updates).transfers == TransferMode::kRendezvous);
    CHECK(runtime_preset(name, eight_on_four("1f1b")).transfers == TransferMode::kBatched);
    CHECK(runtime_preset(name, eight_on_four("1f1b")).send_buffers == 1);
  }
}

TEST_CASE("torchtitan runs one stage per rank by another class than several") {
  CHECK(runtime_preset("torchtitan", eight_on_four("1f1b")).transfers == TransferMode::kBatched);
  CHECK(runtime_preset("torchtitan", eight_on_four("interleaved")).transfers == TransferMode::kRendezvous);
}

TEST_CASE("PyTorch has no I on the first stage, and runs the halves of a pair in turn; plumbline neither") {
  const auto pairs = [](const Schedule& schedule) {
    int count = 0;
    for (const DeviceList& list : schedule.devices) {
      for (const Action& action : list.actions) count += action.overlaps_next;
    }
    return count;
  };
  for (const char* name : {"pytorch", ""}) {
    const bool pytorch = std::string(name) == "pytorch";
    const Schedule schedule = eight_on_four("dualpipev");
    REQUIRE(pairs(schedule) > 0);
    const Ticks unit = unit_costs(schedule).costs.times[1].i;
    const PreparedRun run = run_by(name, schedule);
    CHECK((pairs(run.schedule) == 0) == pytorch);
    CHECK(run.costs().times[0].i == (pytorch ? 0 : unit));
    CHECK(run.costs().times[0].w == (pytorch ? 2 * unit : unit));
    CHECK(run.costs().times[1].i == unit);
  }
}

TEST_CASE("PyTorch sends what the halves of a pair make when both are done: the order that PyTorch itself dumped") {
  for (const std::string file : {"DualPipeV-p2-m8.csv", "DualPipeV-p4-m8.csv", "DualPipeV-p8-m16.csv"}) {
    CAPTURE(file);
    Schedule dumped =
        schedule_from_torch_csv(read_text_file(testing::in_source("tests/sim/traces/data/groups/" + file)), file);
    const Schedule schedule =
        run_by("pytorch", generate("torch-dualpipev",
                                   {.num_devices = dumped.num_devices, .num_microbatches = dumped.num_microbatches}))
            .schedule;
    REQUIRE(schedule.devices.size() == dumped.devices.size());
    for (std::size_t d = 0; d < schedule.devices.size(); ++d) {
      CAPTURE(d);
      const auto without_others = [](std::vector<Action> actions) {
        for (Action& action : actions) action.overlaps_next = 0;
        std::erase_if(actions, [](const Action& action) {
          return action.op == Op::kUnshard || action.op == Op::kReshard || action.op == Op::kReduceGrad ||
                 action.op == Op::kU;
        });
        return actions;
      };
      CHECK((without_others(schedule.devices[d].actions) == without_others(dumped.devices[d].actions)));
    }
  }
}

TEST_SUITE_END();
