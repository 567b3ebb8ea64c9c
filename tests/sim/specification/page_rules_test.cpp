#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "models/ground/error.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/versions/delays.hpp"
#include "schedules/versions/synchronous_phase.hpp"
#include "sim/rules/run_size.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "tests/support/simulated.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using namespace plumb::testing;

namespace {

constexpr Ticks kMillisecond = 1'000'000;

/// A document of one or two devices, one replica, with `more` fields and the lists.
Schedule document(int stages, int microbatches, const std::string& placement, const std::string& devices,
                  const std::string& more = R"("weights": {"policy": "flush"})") {
  const bool one = placement.find('1') == std::string::npos;
  return schedule_from_json(R"({"format": "plumbline-schedule", "version": 1, "name": "hand", "parameters": {},
    "num_devices": )" + std::string(one ? "1" : "2") +
                                ", \"num_stages\": " + std::to_string(stages) +
                                ", \"num_microbatches\": " + std::to_string(microbatches) +
                                ", \"microbatches_per_update\": 1, \"placement\": " + placement + ", " + more +
                                ", \"devices\": " + devices + "}",
                            "hand.json");
}

Timeline run(const Schedule& schedule, const char* costs, const char* memory = "") {
  return simulate(lower(schedule, abstract_costs(costs, memory, {.num_stages = schedule.num_stages})), {});
}

const Span& span_of(const Timeline& timeline, const std::string& action) {
  const auto found = std::ranges::find_if(timeline.spans, [&](const Span& s) { return to_string(s.action) == action; });
  REQUIRE(found != timeline.spans.end());
  return *found;
}

Ticks cause(const Timeline& timeline, std::size_t device, IdleCause which) {
  return timeline.devices[device].idle_causes[static_cast<std::size_t>(which)];
}

/// Two stages on one device, whose updates come in turns: U0 and U1 of stage 1, then those of stage 0.
Schedule updates_in_turns() {
  return document(2, 2, "[[[0], [0]]]",
                  R"([["0F0", "0F1", "1F0", "1B0", "1U0", "1F1", "1B1", "1U1", "0B0", "0U0", "0B1", "0U1"]])",
                  R"("weights": {"policy": "latest"})");
}

Timeline over_links(const char* name, LowerOptions lowering, TransferMode mode) {
  const Schedule schedule = schedule_of({.name = name, .p = 4, .m = 8, .options = {}});
  StageCosts costs = abstract_costs("F=1,I=1,W=1", "", {.num_stages = schedule.num_stages});
  costs.comm.reset();
  Cluster cluster;
  cluster.devices.resize(4);
  cluster.devices_per_node = 4;
  cluster.intra_node = {.latency_ns = 1000, .bytes_per_s = 1e9};
  cluster.finish();
  return simulate(lower(schedule, costs, &cluster, lowering), {.transfers = mode});
}

}  // namespace

TEST_CASE("§5.3: an extra edge between devices takes as long as any other, one on a device takes no time") {
  const std::string lists = R"([["0F0", "0B0", "0U0", "0X1"], ["1F0", "1B0", "1U0"]])";
  const Schedule apart = document(2, 1, "[[[0], [1]]]", lists,
                                  R"("weights": {"policy": "flush"}, "extras": {"X1": 1},
                                     "extra_edges": [["1U0", "0X1"], ["0U0", "0X1"]])");
  REQUIRE(validate(apart).empty());
  // 0F0 0-1, 1F0 4-5, 1B0 5-7, 1U0 7-27, 0B0 10-12, 0U0 12-32: 0X1 waits for 1U0 + 3 and for 0U0.
  const Timeline late = run(apart, "F=1,B=2,U=20,X=1,comm=3");
  CHECK(span_of(late, "0X1").start == 32 * kMillisecond);
  const Schedule back = document(2, 1, "[[[0], [1]]]", R"([["0F0", "0B0", "0U0"], ["1F0", "1B0", "1U0", "1X1"]])",
                                 R"("weights": {"policy": "flush"}, "extras": {"X1": 1},
                                    "extra_edges": [["0U0", "1X1"]])");
  const Timeline timeline = run(back, "F=1,B=2,U=20,X=1,comm=3");
  CHECK(span_of(timeline, "1X1").start == 35 * kMillisecond);
  CHECK(span_of(timeline, "1X1").waited_for == IdleCause::kCompute);
  CHECK(cause(timeline, 1, IdleCause::kTransferLatency) == 3 * kMillisecond);
}

TEST_CASE("§5.3: comm delays the edge round the ring of pipefusion") {
  const auto makespan = [](const char* name, const char* cost, std::map<std::string, std::string> options) {
    return in_units(simulated({.name = name, .p = 4, .m = 8, .cost = cost, .options = std::move(options)}).makespan,
                    {.ticks_per_ns = 1});
  };
  // The critical path passes 3 edges to the last device, 1 back to the first, and 3 to the last one again.
  CHECK(makespan("pipefusion", "F=1,comm=1", {}) - makespan("pipefusion", "F=1", {}) == 7);
}

TEST_CASE("§5.3: every extra edge of the catalogue between devices takes at least comm, some exactly") {
  int exactly = 0;
  for (const Case& one : {Case{.name = "zb-h1", .p = 4, .m = 8, .options = {{"validation", "sync"}}},
                          Case{.name = "zb-h1", .p = 4, .m = 8, .options = {{"validation", "post"}}},
                          Case{.name = "cyclic-dp", .p = 4, .m = 4}, Case{.name = "pipefusion", .p = 4, .m = 8}}) {
    CAPTURE(one.name);
    const Schedule schedule = schedule_of(one);
    REQUIRE_FALSE(schedule.extra_edges.empty());
    const Timeline timeline = run(schedule, "F=1,I=1,W=1,U=1,comm=2");
    for (const ExtraEdge& edge : schedule.extra_edges) {
      const Span& before = span_of(timeline, to_string(edge.before));
      const Span& after = span_of(timeline, to_string(edge.after));
      const Ticks between = after.start - before.end;
      CHECK(between >= (before.device == after.device ? 0 : 2 * kMillisecond));
      exactly += before.device != after.device && between == 2 * kMillisecond ? 1 : 0;
    }
  }
  CHECK(exactly > 4);
}

TEST_CASE("§9.2: updates of a device that come in turns are over when the last stage has made them") {
  // F=1, B=2, U=1: 1U0 ends at 6, 1U1 at 10, 0U0 at 13, 0U1 at 16.
  Schedule schedule = updates_in_turns();
  schedule.weights.policy = WeightPolicy::kFlush;
  const Timeline timeline = run(schedule, "F=1,B=2,U=1");
  CHECK(span_of(timeline, "1U0").end == 6 * kMillisecond);
  CHECK(timeline.makespan == 16 * kMillisecond);
  CHECK(timeline.step_time == 3 * kMillisecond);
}

TEST_CASE("§6.6: send buffers that cannot be kept are told in the timeline and its document, in every mode") {
  for (const TransferMode mode : {TransferMode::kBuffered, TransferMode::kFifo, TransferMode::kRendezvous}) {
    const LowerOptions lowering{.receives = ReceivePlacement::kLate, .send_buffers = 1};
    const Timeline timeline = over_links("zb-v", lowering, mode);
    REQUIRE(timeline.send_buffers.has_value());
    CHECK(timeline.send_buffers->asked == 1);
    CHECK(timeline.send_buffers->waits_moved > 0);
    const std::string text = timeline_to_json(timeline, true);
    CHECK(text.find("\"send_buffers\":{\"asked\":1,\"used\":") != std::string::npos);
    CHECK(timeline_from_json(text, "t.json").send_buffers == timeline.send_buffers);
  }
  CHECK_FALSE(over_links("gpipe", {}, TransferMode::kBuffered).send_buffers.has_value());
}

TEST_CASE("§8.5: folded recompute counts the stash that it makes again, as an R right before the backward does") {
  for (const std::string memory : {"F=1,I=0,W=-1", "F=1,I=-1/2,W=-1/2", "F=1,I=1/4,W=-5/4"}) {
    for (const std::string name : {"1f1b", "gpipe", "zb-h1", "interleaved"}) {
      CAPTURE(name);
      CAPTURE(memory);
      Schedule folded = schedule_of({.name = name, .p = 2, .m = 4});
      folded.recompute = {{.first_stage = 0, .last_stage = folded.num_stages - 1}};
      Schedule explicitly = folded;
      for (DeviceList& list : explicitly.devices) {
        DeviceList with;
        for (const Action& action : expand(list)) {
          Action recompute = action;
          recompute.op = Op::kR;
          if (is_backward(action.op)) with.actions.push_back(recompute);
          with.actions.push_back(action);
        }
        list = with;
      }
      REQUIRE(validate(explicitly).empty());
      const Timeline one = run(folded, "F=1,I=1,W=1,R=1", memory.c_str());
      const Timeline other = run(explicitly, "F=1,I=1,W=1,R=1", memory.c_str());
      CHECK(one.makespan >= other.makespan);  // an R need not wait for the gradient
      for (std::size_t d = 0; d < 2; ++d) {
        CHECK(one.devices[d].busy == other.devices[d].busy);
        CHECK(one.devices[d].peak_activations == other.devices[d].peak_activations);
        CHECK(one.devices[d].peak_activations >= 1);
      }
    }
  }
}

TEST_CASE("§8.5: peaks with folded recompute are those of a summary, too, and without --memory microbatches count") {
  Schedule schedule = schedule_of({.name = "1f1b", .p = 2, .m = 40});
  schedule.recompute = {{.first_stage = 0, .last_stage = 1}};
  for (const char* memory : {"F=1,I=0,W=-1", ""}) {
    const StageCosts costs = abstract_costs("F=1,B=2", memory, {.num_stages = 2, .recompute = true});
    const Timeline summary = simulate_summary(schedule, costs, nullptr, {}, {});
    const Timeline full = simulate(lower(schedule, costs), {});
    for (std::size_t d = 0; d < 2; ++d) {
      CHECK(summary.devices[d].peak_activations == full.devices[d].peak_activations);
      CHECK(full.devices[d].peak_activations == (*memory != 0 ? 1.0 : 2.0 - static_cast<double>(d)));
    }
  }
}

TEST_CASE("§8.5: an EVICT of a stash that recompute has dropped takes nothing away") {
  const Schedule schedule =
      document(1, 1, "[[[0]]]", R"([["0F0", "0EVICT0@host", "0LOAD0", "0B0", "0U0"]])",
               R"("weights": {"policy": "flush"}, "recompute": [{"stages": [0, 0], "microbatches": "all"}])");
  CHECK(run(schedule, "F=1,B=2", "F=1,I=0,W=-1").devices[0].peak_activations == 1);
  CHECK(run(schedule, "F=1,B=2").devices[0].peak_activations == 1);
}

TEST_CASE("§8.5: one slice of any length counts a whole stash") {
  const Schedule schedule =
      document(1, 1, "[[[0]]]", R"([["0F0", "0B0"]])",
               R"("weights": {"policy": "flush"}, "slices": {"axis": "sequence", "lengths": [3]})");
  REQUIRE(validate(schedule).empty());
  CHECK(run(schedule, "F=1,B=2").devices[0].peak_activations == 1);
}

TEST_CASE("§9.1: the useful time of a pair is at least 0, also where its communication hides all of its recompute") {
  Schedule schedule = written_schedule({"0F0 0F1 0B0 0B1"}, 2);
  schedule.devices[0].actions[2].overlaps_next = 1;
  schedule.recompute = {{.first_stage = 0, .last_stage = 0}};
  // F takes 5, the pair 10, and the recompute of both halves would be 10.2.
  const Timeline timeline = run(schedule, "F=0,B=0.1,F.comm=5,R=0.1");
  CHECK(timeline.devices[0].busy == 20 * kMillisecond * timeline.base.ticks_per_ns);
  CHECK(timeline.devices[0].useful == 10 * kMillisecond * timeline.base.ticks_per_ns);
}

TEST_CASE("§9.3: only the first member of a pair names what the pair waited for") {
  const Timeline timeline =
      simulated({.name = "dualpipe", .p = 2, .m = 4, .cost = "F=1,I=1.3,W=0.7,comm=0.1"}, {.spans = true});
  int seconds = 0;
  int named = 0;
  for (std::size_t i = 1; i < timeline.spans.size(); ++i) {
    const Span& span = timeline.spans[i];
    named += span.idle_before != 0 && span.waited_for != IdleCause::kCompute ? 1 : 0;
    if (timeline.spans[i - 1].action.overlaps_next == 0) continue;
    ++seconds;
    CHECK(span.idle_before == 0);
    CHECK(span.waited_for == IdleCause::kCompute);
  }
  CHECK(seconds > 0);
  CHECK(named > 0);
}

TEST_CASE("§9.4: the span of a copy is named as the copy is, with its other side") {
  const Schedule schedule = written_schedule({"0F0 0EVICT0@1 0F1 0B1 0LOAD0@1 0B0", "1F0 1F1 1B1 1B0"}, 2);
  for (const std::string side : {"1", "host"}) {
    Schedule copies = schedule;
    for (Action& action : copies.devices[0].actions) {
      if (is_move(action.op) && side == "host") action.where = Action::kHost;
    }
    const Timeline timeline = run(copies, "F=1,B=2,EVICT=1,LOAD=1");
    std::string names;
    for (const Span& span : timeline.spans) {
      if (span.lane == Lane::kTransfer) names += to_string(span.action) + " ";
    }
    CHECK(names == "0EVICT0@" + side + " 0LOAD0@" + side + " ");
  }
}

TEST_CASE("§10.3: stages that always flush leave out what comes before their first backward, not everything") {
  const Schedule schedule =
      with_synchronous_phase(schedule_of({.name = "wpipe", .p = 2, .m = 2, .updates = 8, .options = {}}), 1);
  REQUIRE(schedule.policy_of(StageId{2}) == WeightPolicy::kFlush);
  const Program program = lower(schedule, abstract_costs("F=1,B=2", "", {.num_stages = 4}));
  CHECK(reaches_steady_state(schedule, program));
  // Microbatches 0 and 1 are flushed, and stage 0 takes 2 to 5 forward before its first backward behind them.
  const StageDelays first = stage_delays(schedule, program).front();
  CHECK(mean_delay(first.distance) == 2.5);
  CHECK(first.forward == DelayCounts{{1, 10}});
}

TEST_CASE("§6.4: where the document has a RECV of a value, it is posted there, also with on-send") {
  // 0F0 is issued after X0, when device 1 stands before 1F0; the RECV stands before 1X1.
  Schedule schedule = document(2, 1, "[[[0], [1]]]", R"([["0X0", "0F0", "0SEND_F0"], ["1RECV_F0", "1X1", "1F0"]])",
                               R"("weights": {"policy": "flush"}, "mode": "forward", "extras": {"X0": 1, "X1": 1})");
  Cluster cluster;
  cluster.devices.resize(2);
  cluster.devices_per_node = 2;
  cluster.intra_node = {.latency_ns = 1000, .bytes_per_s = 1e9};
  cluster.finish();
  StageCosts costs = abstract_costs("F=1,X=1", "", {.num_stages = 2});
  costs.comm.reset();
  const auto post = [&](ReceivePlacement receives) {
    const Program program = lower(schedule, costs, &cluster, {.receives = receives});
    REQUIRE(program.transfers.size() == 1);
    return to_string(program.instrs[program.transfers[0].post].action);
  };
  for (const ReceivePlacement any : {ReceivePlacement::kAhead, ReceivePlacement::kLate, ReceivePlacement::kOnSend}) {
    CHECK(post(any) == "1X1");
  }
  std::erase_if(schedule.devices[1].actions, [](const Action& action) { return is_recv(action.op); });
  CHECK(post(ReceivePlacement::kOnSend) == "1F0");
}

TEST_CASE("§9.6: from a collective the critical path goes to the first of the members that ended last") {
  Schedule schedule = document(1, 2, "[[[1, 0]]]", R"([["0F1", "0B1"], ["0F0", "0I0", "0W0"]])");
  schedule.microbatches_per_update = {2};
  REQUIRE(validate(schedule).empty());
  const Program program = lower(schedule, abstract_costs("F=1,I=1,W=1,AR=5", "", {.num_stages = 1}));
  const Timeline timeline = simulate(program, {.critical_path = true});
  std::string kinds;
  for (const CriticalShare& share : timeline.critical_path) kinds += share.kind + " ";
  CHECK(timeline.makespan == 8 * kMillisecond);
  CHECK(kinds == "collective B F ");
}

TEST_CASE("§9.3: a gap behind a LOAD is memory until the copy is there, and then what the last wait says") {
  const std::string lists = R"([["0F0", "0EVICT0@host", "0LOAD0", "0B0"], ["1F0", "1B0"]])";
  const Schedule schedule = document(2, 1, "[[[0], [1]]]", lists);
  // 0F0 0-1, EVICT 1-1.5, LOAD 1.5-2.5, 1F0 1-2, 1B0 2-2+B, 0B0 at 2+B: a gap of 0.5 + B, 1 of it memory.
  for (const int backward : {1, 2}) {
    const std::string costs = "F=1,B=" + std::to_string(backward) + ",EVICT=1/2,LOAD=1";
    const Timeline timeline = run(schedule, costs.c_str());
    const Span& span = span_of(timeline, "0B0");
    CHECK(span.start == (2 + backward) * kMillisecond);
    CHECK(span.idle_before == backward * kMillisecond + kMillisecond / 2);
    CHECK(span.waited_for == (backward == 1 ? IdleCause::kMemory : IdleCause::kCompute));
    CHECK(cause(timeline, 0, IdleCause::kMemory) ==
          kMillisecond + kMillisecond / 2);  // and that before the LOAD, for the EVICT
    CHECK(cause(timeline, 0, IdleCause::kCompute) == backward * kMillisecond - kMillisecond / 2);
  }
}

TEST_CASE("§9.1: a bubble near 0 has all its digits, because it is divided once") {
  const Schedule schedule = schedule_of({.name = "1f1b", .p = 4, .m = 1'000'000'000});
  const StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = 4});
  const Timeline timeline = simulate_summary(schedule, costs, nullptr, {}, {});
  CHECK(timeline.bubble_fraction == 3.0 / 1'000'000'003.0);
  CHECK(timeline.bubble_rate == 3.0 / 1'000'000'003.0);
}

TEST_CASE("§4.6: amounts of extra work that are fractions are exact, however often they occur") {
  // 4 layers in 4 parts of 4 / (3 x 4) units: 16/3 units on every device, beside 12 units of 1f1b in 18.
  const Timeline timeline = simulated({.name = "diffusionpipe", .p = 3, .m = 4, .cost = "F=1,B=2,X=1"});
  CHECK(timeline.base.ticks_per_ns == 3);
  for (const DeviceSummary& device : timeline.devices)
    CHECK(3 * device.busy == 52 * kMillisecond * timeline.base.ticks_per_ns);
  CHECK(units_as_fraction(1.0 / 12) == Rational(1, 12));
  CHECK(units_as_fraction(2.5) == Rational(5, 2));
  CHECK(units_as_fraction(0) == Rational(0));
}

TEST_CASE("§3.2: two stages whose last backwards are a pair are updated once") {
  const Schedule schedule = document(2, 1, "[[[0], [0]]]", R"([["0F0", "1F0", "1I0", "0I0", "(0W0;1W0)OVERLAP"]])");
  const Program program = lower(schedule, abstract_costs("F=1", "", {.num_stages = 2}));
  const auto updates = std::ranges::count_if(program.instrs, [](const Instr& i) { return i.action.op == Op::kU; });
  CHECK(updates == 2);
}

TEST_CASE("§1.5: a run that does not fit is refused with its size before anything is allocated for it") {
  const auto refusal = [](std::int32_t p, std::int64_t m) -> std::string {
    const Schedule schedule = schedule_of({.name = "1f1b", .p = p, .m = m});
    const StageCosts costs = abstract_costs("F=1", "", {.num_stages = p});
    try {
      simulate_summary(schedule, costs, nullptr, {}, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string text = refusal(65536, 100'000);
  CHECK(text.find("13107265536 actions") != std::string::npos);
  CHECK(text.find("expected at most 2147483648") != std::string::npos);
  CHECK(text.find("GiB of memory") != std::string::npos);
  CHECK(refusal(4, 1'000'000'000).empty());  // its steady state is skipped
  const Schedule schedule = schedule_of({.name = "1f1b", .p = 64, .m = 100});
  CHECK(run_size(schedule, true, {}).bytes > run_size(schedule, false, {}).bytes);
}
