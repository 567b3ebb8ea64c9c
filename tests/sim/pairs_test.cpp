#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/job_costs.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/check_program.hpp"
#include "schedules/program/program_index.hpp"
#include "schedules/runnability/deadlock.hpp"
#include "sim/events/event_engine.hpp"
#include "sim/passes/one_pass.hpp"
#include "tests/support/random_pairs.hpp"
#include "tests/support/reference_engine.hpp"
#include "tests/support/simulated.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

constexpr std::array kPairModes{TransferMode::kBuffered, TransferMode::kFifo,    TransferMode::kRendezvous,
                                TransferMode::kBlocking, TransferMode::kBatched, TransferMode::kPairFifo};

/// Schedules of whole and split backwards, one and several stages per device, recompute and slices.
const std::array kPairedCases{
    Case{.name = "1f1b", .p = 3, .m = 6},    Case{.name = "interleaved", .p = 3, .m = 6, .chunks = 2},
    Case{.name = "zb-h2", .p = 3, .m = 6},   Case{.name = "zb-v", .p = 2, .m = 5},
    Case{.name = "varuna", .p = 3, .m = 6},  Case{.name = "2bp", .p = 3, .m = 6},
    Case{.name = "chimera", .p = 4, .m = 8}, Case{.name = "stp", .p = 2, .m = 6},
};

/// Calls `visit(schedule)` with random pairs in each of the cases; the kinds of pairs that were met.
template <class Visit>
std::set<std::string> for_each_paired(std::uint64_t seeds, Visit visit) {
  std::set<std::string> kinds;
  for (const Case& c : kPairedCases) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      CAPTURE(c.name);
      CAPTURE(seed);
      const Schedule plain = schedule_of(c);
      const Schedule paired = with_random_pairs(plain, seed);
      kinds.merge(kinds_of_pairs(paired));
      visit(plain, paired);
    }
  }
  return kinds;
}

StageCosts uneven_pair_costs(std::int32_t stages, bool priced) {
  StageCosts costs;
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    StageTimes times{.f = 10 + 3 * (stage % 4), .i = 9 + 5 * (stage % 3), .w = 11, .r = 8, .u = 4};
    times.b = times.i + times.w;
    if (priced) {
      times.f_comm = {.all = 4, .shown = 4};
      times.b_comm = {.all = 3};
      times.i_comm = {.all = 3, .shown = 3};
      times.pairs.ticks[PairTimes::place(0, 3)] = 16 + stage;  // F and W
    }
    costs.times.push_back(times);
    StageMemory memory;
    memory.output_bytes = memory.input_grad_bytes = memory.input_bytes = memory.output_grad_bytes = 14;
    memory.workspace_f_bytes = memory.workspace_w_bytes = 5;
    costs.memory.push_back(memory);
  }
  return costs;
}

Cluster pair_cluster(std::int32_t devices) {
  Cluster cluster;
  cluster.devices.resize(static_cast<std::size_t>(devices + devices % 2));  // whole nodes
  cluster.devices_per_node = 2;
  cluster.intra_node = {.latency_ns = 2, .bytes_per_s = 2e9};
  cluster.inter_node = {.latency_ns = 5, .bytes_per_s = 1e9};
  cluster.finish();
  return cluster;
}

double units(const Case& c) {
  const Timeline timeline = simulated(c);
  return in_units(timeline.makespan, timeline.base);
}

}  // namespace

TEST_CASE("both engines give the longest path of schedules with pairs of any two actions, in every transfer mode") {
  int runs = 0;
  const auto kinds = for_each_paired(4, [&](const Schedule&, const Schedule& schedule) {
    const Cluster cluster = pair_cluster(schedule.num_devices);
    for (const bool priced : {false, true}) {
      const Program program = lower(schedule, uneven_pair_costs(schedule.num_stages, priced), &cluster);
      CHECK(check_program(program).empty());
      for (const TransferMode mode : kPairModes) {
        CAPTURE(static_cast<int>(mode));
        const SimOptions options{.transfers = mode};
        const auto expected = run_longest_path(program, options);
        const auto by_events = run_events(program, options);
        REQUIRE(by_events.has_value() == expected.has_value());
        CHECK(describe_deadlock(program, mode).empty() == expected.has_value());
        if (!expected) continue;
        ++runs;
        CHECK(*by_events == *expected);
        if (why_not_one_pass(program, options)) continue;
        const auto by_pass = run_one_pass(ProgramIndex(program), options);
        REQUIRE(by_pass.has_value());
        CHECK(*by_pass == *expected);
      }
    }
  });
  CHECK(runs >= 100);
  for (const std::string kind :
       {"FF", "FB", "FI", "FW", "BF", "BB", "BW", "BR", "IF", "II", "IW", "WF", "WB", "WI", "WW"}) {
    CAPTURE(kind);
    CHECK(kinds.contains(kind));
  }
}

TEST_CASE("pairs that take the sum of their halves never end earlier than the halves one after the other") {
  for_each_paired(6, [](const Schedule& plain, const Schedule& paired) {
    const StageCosts costs = uneven_pair_costs(plain.num_stages, false);
    const Timeline before = simulate(lower(plain, costs));
    const Timeline after = simulate(lower(paired, costs));
    CHECK(after.makespan >= before.makespan);
    for (std::size_t d = 0; d < before.devices.size(); ++d) {
      CHECK(after.devices[d].busy == before.devices[d].busy);
      CHECK(after.devices[d].peak_memory_bytes >= before.devices[d].peak_memory_bytes);
    }
  });
}

TEST_CASE("§4.5: when a pair becomes cheaper, nothing ends later, and no pair is shorter than what it cannot hide") {
  for_each_paired(3, [](const Schedule&, const Schedule& paired) {
    Ticks last = 0;
    for (const char* cost :
         {"F=1,I=1,W=1", "F=1,I=1,W=1,FF=1.25,FB=2.25,FI=1.25,FW=1.25,FR=1.25,BB=3,BI=2,BW=2,IW=1,WW=1",
          "F=1,I=1,W=1,FF=1,FB=2,FI=1,FW=1,FR=1,BB=2,BI=2,BW=2,IW=1,WW=1"}) {
      const StageCosts costs = abstract_costs(cost, "", {.num_stages = paired.num_stages});
      const Ticks makespan = simulate(lower(paired, costs)).makespan;
      CHECK((last == 0 || makespan <= last));
      last = makespan;
    }
  });
}

TEST_CASE("with pairs idle causes add up to idle time and the critical path to the makespan, pairs by their two ops") {
  std::set<std::string> named;
  for_each_paired(3, [&](const Schedule&, const Schedule& paired) {
    const Cluster cluster = pair_cluster(paired.num_devices);
    const Timeline timeline = simulate(lower(paired, uneven_pair_costs(paired.num_stages, true), &cluster));
    for (const DeviceSummary& device : timeline.devices) {
      CHECK(std::accumulate(device.idle_causes.begin(), device.idle_causes.end(), Ticks{0}) == device.idle);
      CHECK(device.busy + device.idle == timeline.makespan);
    }
    Ticks sum = 0;
    for (const CriticalShare& share : timeline.critical_path) sum += share.ticks, named.insert(share.kind);
    CHECK(sum == timeline.makespan);
  });
  for (const std::string kind : {"F+F", "F+I", "W+F", "F", "W"}) {
    CAPTURE(kind);
    CHECK(named.contains(kind));
  }
}

TEST_CASE("schedules with pairs come back from text and document as they were") {
  for_each_paired(3, [](const Schedule&, const Schedule& paired) {
    CHECK(schedule_from_json(schedule_to_json(paired), "pairs.json") == paired);
  });
}

TEST_CASE("§2.4: a pair of forwards starts when the later input is there, and holds the buffers of both at once") {
  Schedule schedule = written_schedule({"0F0 0F1 0B0 0B1", "(1F0;1F1)OVERLAP 1B0 1B1"}, 2);
  StageCosts costs = abstract_costs("F=1,B=2,FF=1.5", "", {.num_stages = 2});
  costs.memory.assign(2, StageMemory{.workspace_f_bytes = 7});
  const Timeline timeline = simulate(lower(schedule, costs));
  CHECK(in_units(timeline.makespan, timeline.base) == 2 + 1.5 + 2 + 2 + 2);
  CHECK(timeline.devices[0].peak_memory_bytes == 7);
  CHECK(timeline.devices[1].peak_memory_bytes == 14);
}

TEST_CASE("§9.1: of a pair the share of a recompute, or of extra work, is no useful work, whichever half it is") {
  const auto useful = [](const std::string& list, const char* cost) {
    Schedule schedule = written_schedule({list}, 2);
    schedule.recompute = {Recompute{}};
    schedule.extras["X0"] = {};
    const Timeline timeline = simulate(lower(schedule, abstract_costs(cost, "", {.num_stages = 1})));
    CHECK(timeline.devices[0].idle == 0);
    return in_units(timeline.devices[0].useful, timeline.base);
  };
  const char* cost = "F=1,B=2,R=3,X=5";
  CHECK(useful("0F0 0F1 0R0 0R1 0B0 0B1", cost) == 6);
  CHECK(useful("0F0 (0R0;0F1)OVERLAP 0B0 0R1 0B1", cost) == 6);
  CHECK(useful("0F0 (0F1;0R0)OVERLAP 0B0 0R1 0B1", cost) == 6);
  CHECK(useful("0F0 0F1 (0R0;0R1)OVERLAP 0B0 0B1", cost) == 6);
  CHECK(useful("0F0 (0X0;0F1)OVERLAP 0R0 0B0 0R1 0B1", cost) == 6);
  CHECK(useful("0F0 (0F1;0X0)OVERLAP 0R0 (0B0;0R1)OVERLAP 0B1", cost) == 6);
  // Half of F and R as a pair are hidden, of either the same share.
  CHECK(useful("0F0 (0R0;0F1)OVERLAP 0B0 0R1 0B1", "F=1,B=2,R=3,FR=2") == 5.5);
}

TEST_CASE("stp hides all-reduces in pairs: 6 m + (p - 1)(1 + a) + 2 p a with equal passes and an all-reduce of a") {
  for (const auto& [p, m, zero, quarter] :
       {std::tuple{2, 8, 49.0, 50.25}, std::tuple{4, 12, 75.0, 77.75}, std::tuple{4, 16, 99.0, 101.75},
        std::tuple{4, 24, 147.0, 149.75}, std::tuple{8, 32, 199.0, 204.75}}) {
    CAPTURE(p);
    CAPTURE(m);
    const auto takes = [&, p = p, m = m](std::string_view cost) {
      return units({.name = "stp", .p = p, .m = m, .cost = cost});
    };
    CHECK(takes("F=1,I=1,W=1") == zero);
    CHECK(takes("F=1,I=1,W=1,F.comm=0.25,I.comm=0.25") == quarter);
    CHECK(takes("F=1,I=1,W=1,F.comm=0.5,I.comm=0.5") == 6 * m + (p - 1) * 1.5 + 2 * p * 0.5);
  }
}

TEST_CASE("1f1b-overlap takes p (F + B) + (m - 1) FB, and interleaved-overlap its closed form") {
  struct Row {
    std::int32_t p, v;
    std::int64_t m;
    double sum, hidden;  ///< step with FB = 3 = F + B, and with FB = 2.5
    std::vector<double> stashes;
  };
  for (const Row& row : {Row{4, 1, 8, 33, 29.5, {8, 6, 4, 2}}, Row{4, 1, 16, 57, 49.5, {8, 6, 4, 2}},
                         Row{8, 1, 32, 117, 101.5, {16, 14, 12, 10, 8, 6, 4, 2}},
                         Row{4, 2, 8, 57, 51.5, {12, 10, 8, 6}}, Row{4, 2, 16, 105, 91.5, {12, 10, 8, 6}}}) {
    CAPTURE(row.p);
    CAPTURE(row.m);
    const std::string_view name = row.v == 1 ? "1f1b-overlap" : "interleaved-overlap";
    const std::int32_t chunks = row.v == 1 ? 0 : row.v;
    const auto takes = [&](std::string_view cost) {
      return units({.name = name, .p = row.p, .m = row.m, .cost = cost, .chunks = chunks});
    };
    CHECK(takes("F=1,B=2,FB=3") == row.sum);
    CHECK(takes("F=1,B=2,FB=2.5") == row.hidden);
    // From the parts of passes: F = 1 + 0.5, B = 1 + max(0.5, 1), FB = max(1 + 2, 0.5 + 0.5, 1.5, 2) = 3 for 3.5.
    const double chunks_of_all = static_cast<double>(row.m * row.v);
    const double paired = chunks_of_all - static_cast<double>((row.v - 1) * row.p) - 1;
    CHECK(takes("F=1,I=1,W=1,F.comm=0.5,I.comm=0.5") == (chunks_of_all + row.p - 1) * 3.5 - paired * 0.5);
    const Timeline timeline = simulated({.name = name, .p = row.p, .m = row.m, .chunks = chunks});
    for (std::size_t d = 0; d < row.stashes.size(); ++d) {
      CHECK(timeline.devices[d].peak_activations == row.stashes[d]);
    }
  }
}

TEST_CASE("twice the warm-up of 1f1b-overlap hides transfers, too: 39, 67 and 139 for 41, 71 and 151 of 1f1b") {
  const std::string_view cost = "F=1,B=2,FB=3,comm=0.5";
  for (const auto& [p, m, overlapped, plain] :
       {std::tuple{4, 8, 39.0, 41.0}, std::tuple{4, 16, 67.0, 71.0}, std::tuple{8, 32, 139.0, 151.0}}) {
    CAPTURE(p);
    CAPTURE(m);
    CHECK(units({.name = "1f1b-overlap", .p = p, .m = m, .cost = cost}) == overlapped);
    CHECK(units({.name = "1f1b", .p = p, .m = m, .cost = cost}) == plain);
  }
}

TEST_CASE("on networks dualpipe is idle for (p/2 - 1)(FB + B - 3 W), as published, and F - I more where they differ") {
  for (const auto& [network, tensor] :
       {std::pair{"gpt3-13b", 8}, std::pair{"gpt3-13b", 2}, std::pair{"llama2-70b", 8}}) {
    CAPTURE(network);
    CAPTURE(tensor);
    const Cluster cluster = load_cluster("a100-4x8");
    const Network layers = load_network(network);
    const JobCosts priced = job_costs(layers, equal_partition(layers, 4), {cluster, 4}, {.tensor = tensor});
    for (const bool equal : {false, true}) {
      // Of the network's inner stages: the formula knows equal stages, free transfers and no updates.
      StageTimes stage = priced.costs.times[1];
      stage.u = 0;
      if (equal) stage.i = stage.f;
      if (equal) stage.b = stage.i + stage.w;
      const Ticks pair = std::max({stage.f - stage.f_comm.shown + stage.b - stage.b_comm.shown,
                                   stage.f_comm.all + stage.b_comm.all, stage.f, stage.b});
      CHECK(pair < stage.f + stage.b);
      for (const auto& [name, p, m] :
           {std::tuple{"dualpipe", 4, 12}, std::tuple{"dualpipe", 8, 20}, std::tuple{"dualpipev", 4, 10}}) {
        CAPTURE(name);
        CAPTURE(p);
        const Schedule schedule = schedule_of({.name = name, .p = p, .m = m});
        StageCosts costs;
        costs.times.assign(static_cast<std::size_t>(schedule.num_stages), stage);
        costs.base = priced.costs.base;
        Ticks idle = 0;
        for (const DeviceSummary& device : simulate(lower(schedule, costs)).devices) {
          idle = std::max(idle, device.idle);
        }
        const std::int64_t times = schedule.num_stages / 2 - 1;
        const Ticks published = times * (pair + stage.b - 3 * stage.w);
        CHECK(std::abs(idle - published - times * (stage.f - stage.i)) <= 3 * times);  // B is rounded on its own
      }
    }
  }
}

TEST_CASE("on a network a pair takes the largest of both computations, both communications, and each half alone") {
  const Network network = load_network("gpt3-13b");
  const Cluster cluster = load_cluster("a100-4x8");
  for (const bool overlap : {false, true}) {
    CAPTURE(overlap);
    const Parallelism job{.tensor = 8, .overlap_tensor = overlap};
    const JobCosts priced = job_costs(network, equal_partition(network, 4), {cluster, 4}, job);
    const StageTimes& stage = priced.costs.times[1];
    REQUIRE(stage.f_comm.shown > 0);
    CHECK((stage.b_comm.shown == 0) == overlap);
    const Ticks computed = stage.f - stage.f_comm.shown + stage.b - stage.b_comm.shown;
    const Ticks expected = std::max({computed, stage.f_comm.all + stage.b_comm.all, stage.f, stage.b});
    CHECK(expected < stage.f + stage.b);
    const Schedule schedule = schedule_of({.name = "dualpipe", .p = 4, .m = 8});
    const Program program = lower(schedule, priced.costs, &priced.pipeline);
    int pairs = 0;
    for (InstrIndex at = 0; at < program.size(); ++at) {
      const Action& first = program.instrs[at].action;
      if (first.overlaps_next == 0 || index(first.stage) % 3 == 0) continue;  // inner stages are alike
      ++pairs;
      CHECK(program.durations[program.instrs[at].row] == expected);
    }
    CHECK(pairs > 0);
  }
}

TEST_CASE("a pair of dualpipe costs the same whether its time is given or follows from its parts") {
  // F = 1.5 with 0.5 of communication, B = 2 hides its own, so FB = max(1 + 2, 0.5 + 0.5, 1.5, 2) = 3 instead of 3.5.
  const std::string_view cost = "F=1,I=1,W=1,F.comm=0.5,I.comm=0.5";
  for (const auto& [name, p, m] : {std::tuple{"dualpipe", 4, 12}, std::tuple{"dualpipe", 8, 20},
                                   std::tuple{"dualpipev", 2, 6}, std::tuple{"dualpipev", 4, 10}}) {
    CAPTURE(name);
    CAPTURE(p);
    const auto timeline = [&, name = name, p = p, m = m](const std::string_view costs) {
      return simulated({.name = name, .p = p, .m = m, .cost = costs});
    };
    const Timeline parts = timeline(cost);
    const Timeline given = timeline("F=1,I=1,W=1,F.comm=0.5,I.comm=0.5,FB=3");
    CHECK(parts.makespan == given.makespan);
    CHECK(parts.makespan < timeline("F=1,I=1,W=1,F.comm=0.5,I.comm=0.5,FB=3.5").makespan);
  }
}

TEST_CASE("interleaved 1f1b shows the all-reduces of its forwards, zb-v those of its input gradients, too") {
  // Of the same table: bubbles (p - 1)(3 + a) + 2 m a, and 4 m a + 2 (p - 1) a between first and last action.
  const std::string_view cost = "F=1,I=1,W=1,F.comm=0.25,I.comm=0.25";
  for (const auto& [p, m] : {std::pair{2, 8}, std::pair{4, 16}, std::pair{8, 32}}) {
    CAPTURE(p);
    CHECK(units({.name = "interleaved", .p = p, .m = m, .cost = cost, .chunks = 2}) ==
          6 * m + (p - 1) * 3.25 + 2 * m * 0.25);
    const Timeline zb_v = simulated({.name = "zb-v", .p = p, .m = m, .cost = cost});
    CHECK(in_units(zb_v.longest_device_span, zb_v.base) == 6 * m + 4 * m * 0.25 + 2 * (p - 1) * 0.25);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
