#include "schedules/lowering/lower.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/program/check_program.hpp"
#include "schedules/program/program_text.hpp"
#include "schedules/program/topological_order.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb {
namespace {

/// A schedule of stages 0 .. on devices 0 .., lists given as text, "d0: 0F0 0B0" without the name.
Schedule chain(const std::vector<std::string>& lists, std::int64_t m, std::int64_t updates = 1) {
  Schedule schedule;
  schedule.name = "by hand";
  schedule.num_devices = static_cast<std::int32_t>(lists.size());
  schedule.num_stages = schedule.num_devices;
  schedule.num_microbatches = m * updates;
  schedule.microbatches_per_update = {m};
  schedule.placement.resize(1);
  for (std::int32_t d = 0; d < schedule.num_devices; ++d) schedule.placement[0].push_back({DeviceId{d}});
  for (const std::string& list : lists) {
    DeviceList& device = schedule.devices.emplace_back();
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t end = std::min(list.find(' ', at), list.size());
      device.actions.push_back(parse_action(list.substr(at, end - at), "test"));
      at = end + 1;
    }
  }
  return schedule;
}

StageCosts costs_for(const Schedule& schedule) {
  StageCosts costs;
  costs.times.assign(static_cast<std::size_t>(schedule.num_stages),
                     StageTimes{.f = 10, .b = 20, .i = 12, .w = 8, .r = 9, .u = 5});
  return costs;
}

StageCosts costs_with_memory(const Schedule& schedule) {
  StageCosts costs = costs_for(schedule);
  costs.memory.assign(
      static_cast<std::size_t>(schedule.num_stages),
      StageMemory{.weight_bytes = 1000, .gradient_bytes = 1000, .output_bytes = 8, .input_grad_bytes = 4});
  return costs;
}

Cluster cluster_of(std::int32_t devices) {
  Cluster cluster;
  cluster.name = "test";
  cluster.devices.resize(static_cast<std::size_t>(devices));
  cluster.devices_per_node = devices;
  cluster.intra_node = {.latency_ns = 100, .bytes_per_s = 1e9};
  cluster.inter_node = cluster.intra_node;
  cluster.finish();
  return cluster;
}

std::string lowered(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster = nullptr,
                    const LowerOptions& options = {}) {
  const Program program = lower(schedule, costs, cluster, options);
  CHECK(check_program(program) == std::vector<std::string>{});
  return program_to_text(program);
}

const Row& row_of(const Program& program, const std::string& action) {
  for (InstrIndex at = 0; at < program.size(); ++at) {
    if (to_string(program.instrs[at].action) == action) return program.rows[program.instrs[at].row];
  }
  throw Error("no such instr: " + action);
}

Ticks duration_of(const Program& program, const std::string& action) {
  return program.durations[static_cast<std::size_t>(&row_of(program, action) - program.rows.data())];
}

}  // namespace

TEST_CASE("edges between devices become waits, edges in a lane do not, and missing updates are added") {
  CHECK(lowered(chain({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"}, 2), costs_for(chain({"", ""}, 2))) ==
        "d0: 0F0 0F1 0B0{1B0} 0B1{1B1} 0U0\n"
        "d1: 1F0{0F0} 1B0 1F1{0F1} 1B1 1U0\n");
}

TEST_CASE("abstract comm makes latencies even where a cluster is known") {
  const Schedule schedule = chain({"0F0 0B0", "1F0 1B0"}, 1);
  StageCosts costs = costs_for(schedule);
  costs.comm = 7;
  const Cluster cluster = cluster_of(2);
  const Program program = lower(schedule, costs, &cluster);
  CHECK(program.transfers.empty());
  REQUIRE(program.waits.size() == 2);
  CHECK(program.waits[0].via == Wait::kLatency);
  CHECK(program.comm == 7);
}

TEST_CASE("§1.2: abstract comm is the latency of messages where they are asked for, with and without a cluster") {
  const Schedule schedule = chain({"0F0 0B0", "1F0 1B0"}, 1);
  StageCosts costs = costs_for(schedule);
  costs.base.ticks_per_ns = 3;
  costs.comm = 7;
  const Cluster cluster = cluster_of(2);
  for (const Cluster* links : {static_cast<const Cluster*>(nullptr), &cluster}) {
    CHECK(makes_transfers(costs, links, {.messages = true}));
    const Program program = lower(schedule, costs, links, {.messages = true});
    CHECK(check_program(program) == std::vector<std::string>{});
    REQUIRE(program.transfers.size() == 2);
    CHECK_FALSE(program.comm.has_value());
    for (const Channel& channel : program.channels) {
      CHECK(channel.route.latency_ns == 2);  // 7 / 3, rounded
      CHECK(channel.route.bytes_per_s == 0);
    }
  }
  CHECK_FALSE(makes_transfers(costs, &cluster, {}));
}

TEST_CASE("receives stand one compute action ahead, sends are waited for when a third buffer is needed") {
  const Schedule schedule = chain({"0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"}, 3);
  const Cluster cluster = cluster_of(2);
  CHECK(lowered(schedule, costs_with_memory(schedule), &cluster) ==
        "d0: 0F0 0F1 0F2 0B0{1B0} 0B1{1B1} 0B2{1B2} 0U0\n"
        "d1: 1F0{0F0} 1B0 1F1{0F1} 1B1 1F2{0F2} 1B2 1U0\n"
        "d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent 0F2, 8 bytes\n"
        "d0>d1 SEND_F 0F1 -> 1F1, issued 0F1, posted 1B0, sent end, 8 bytes\n"
        "d0>d1 SEND_F 0F2 -> 1F2, issued 0F2, posted 1B1, sent end, 8 bytes\n"
        "d1>d0 SEND_B 1B0 -> 0B0, issued 1B0, posted 0F2, sent 1B2, 4 bytes\n"
        "d1>d0 SEND_B 1B1 -> 0B1, issued 1B1, posted 0B0, sent end, 4 bytes\n"
        "d1>d0 SEND_B 1B2 -> 0B2, issued 1B2, posted 0B1, sent end, 4 bytes\n");
}

TEST_CASE("late receives stand just before their consumer, but no later than those after them in the channel") {
  // Device 1 consumes 0F1 before 0F0, which its sender issues first.
  const Schedule schedule = chain({"0F0 0F1 0B1 0B0", "1F1 1F0 1B1 1B0"}, 2);
  const Cluster cluster = cluster_of(2);
  const Program program = lower(schedule, costs_for(schedule), &cluster, {.receives = ReceivePlacement::kLate});
  REQUIRE(program.transfers.size() == 4);
  CHECK(to_string(program.instrs[program.transfers[0].consumer].action) == "1F0");
  CHECK(to_string(program.instrs[program.transfers[0].post].action) == "1F1");
  CHECK(to_string(program.instrs[program.transfers[1].post].action) == "1F1");
  CHECK(to_string(program.instrs[program.transfers[3].post].action) == "0B0");
}

TEST_CASE("receives on send stand where the receiver's list ended when the sender issued, round by round") {
  // Rounds: 0F0 (1F0 posted at once) 1F0 | 0F1 (posted before 1B0) 1B0 (posted before 0F2) | 0F2 ... as PyTorch lowers.
  const Schedule schedule = chain({"0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"}, 3);
  const Cluster cluster = cluster_of(2);
  const Program program = lower(schedule, costs_for(schedule), &cluster, {.receives = ReceivePlacement::kOnSend});
  CHECK(check_program(program).empty());
  std::vector<std::string> posts;
  for (const Transfer& transfer : program.transfers) posts.push_back(to_string(program.instrs[transfer.post].action));
  CHECK(posts == std::vector<std::string>{"1F0", "1B0", "1F1", "0F2", "0B1", "0B2"});
}

TEST_CASE("§6.3: explicit transfers of the document fix where messages are issued and posted") {
  const Schedule schedule = chain({"0F0 0F1 0SEND_F0 0SEND_F1 0B0 0B1", "1RECV_F0 1RECV_F1 1F0 1B0 1F1 1B1"}, 2);
  const Cluster cluster = cluster_of(2);
  const Program program = lower(schedule, costs_for(schedule), &cluster);
  CHECK(check_program(program).empty());
  CHECK(to_string(program.instrs[program.transfers[0].issue].action) == "0F1");
  CHECK(to_string(program.instrs[program.transfers[1].issue].action) == "0F1");
  CHECK(to_string(program.instrs[program.transfers[1].post].action) == "1F0");
}

TEST_CASE("§6.2: explicit sends in another order than the values are made decide the order of the channel") {
  const Schedule schedule = chain({"0F0 0F1 0SEND_F1 0SEND_F0 0B1 0B0", "1F1 1B1 1F0 1B0"}, 2);
  const Cluster cluster = cluster_of(2);
  const Program program = lower(schedule, costs_for(schedule), &cluster);
  CHECK(check_program(program).empty());
  CHECK(to_string(program.instrs[program.transfers[0].producer].action) == "0F1");
  CHECK(to_string(program.instrs[program.transfers[1].producer].action) == "0F0");
}

TEST_CASE("an overlapped pair takes F+B, or the FB cost where both stages name one; its second half takes no time") {
  Schedule schedule = chain({"0F0 0F1 0B0 0B1"}, 2);
  schedule.devices[0].actions[1].overlaps_next = 1;
  StageCosts costs = costs_for(schedule);
  const Program sum = lower(schedule, costs);
  CHECK(duration_of(sum, "0F1") == 30);
  CHECK(row_of(sum, "0F1").overlapped);
  CHECK(duration_of(sum, "0B0") == 0);
  CHECK(duration_of(sum, "0B1") == 20);
  costs.times[0].pairs.ticks[PairTimes::place(0, 1)] = 24;
  CHECK(duration_of(lower(schedule, costs), "0F1") == 24);
}

TEST_CASE("§4.7: a slow device takes longer by its speed factor") {
  const Schedule schedule = chain({"0F0 0B0", "1F0 1B0"}, 1);
  Cluster cluster = cluster_of(2);
  cluster.devices[1].speed = 0.5;
  const Program program = lower(schedule, costs_for(schedule), &cluster);
  CHECK(duration_of(program, "0F0") == 10);
  CHECK(duration_of(program, "1F0") == 20);
  CHECK(duration_of(program, "1B0") == 40);
}

TEST_CASE("§4.4: folded recompute adds R to the backward, except for the microbatches that the rule leaves out") {
  Schedule schedule = chain({"0F0 0F1 0B0 0I1 0W1"}, 2);
  Recompute rule;
  rule.except_last_microbatch = true;
  schedule.recompute = {rule};
  const Program program = lower(schedule, costs_for(schedule));
  CHECK(duration_of(program, "0B0") == 29);
  CHECK(row_of(program, "0F0").recompute);
  CHECK(duration_of(program, "0I1") == 12);
  CHECK_FALSE(row_of(program, "0F1").recompute);
}

TEST_CASE("an explicit R drops the stash after F and leaves the backward its own time") {
  Schedule schedule = chain({"0F0 0R0 0B0"}, 1);
  schedule.recompute = {Recompute{}};
  const Program program = lower(schedule, costs_for(schedule));
  CHECK(row_of(program, "0F0").recompute);
  CHECK(duration_of(program, "0R0") == 9);
  CHECK(duration_of(program, "0B0") == 20);
  CHECK_FALSE(row_of(program, "0B0").recompute);
}

TEST_CASE("W counts as the end of a split backward: the update comes after the last one") {
  CHECK(lowered(chain({"0F0 0F1 0I0 0I1 0W1 0W0"}, 2), costs_for(chain({""}, 2))) ==
        "d0: 0F0 0F1 0I0 0I1 0W1 0W0 0U0\n");
}

TEST_CASE("an asynchronous stage updates after every update's last backward, outside of an overlapped pair") {
  Schedule schedule = chain({"0F0 0F1 0B0 0F2 0B1 0B2"}, 1, 3);
  schedule.weights.policy = WeightPolicy::kLatest;
  schedule.devices[0].actions[2].overlaps_next = 1;
  CHECK(lowered(schedule, costs_for(schedule)) ==
        "d0: 0F0[v0] 0F1[v0] (0B0[v0];0F2[v0]) 0U0 0B1[v1] 0U1 0B2[v2] 0U2\n");
}

TEST_CASE("§5.5: copies of a stage reduce their gradients before the update, by the ring over their devices") {
  Schedule schedule = chain({"0F0 0B0", "0F1 0B1"}, 2);
  schedule.num_stages = 1;
  schedule.placement = {{{DeviceId{0}, DeviceId{1}}}};
  const Cluster cluster = cluster_of(2);
  // 2 (n-1) = 2 steps of 1000 / 2 bytes at 1 byte per ns and 100 ns: 1200 ns.
  CHECK(lowered(schedule, costs_with_memory(schedule), &cluster) ==
        "d0: 0F0 0B0 0REDUCE_GRAD 0U0{collective 0}\n"
        "d1: 0F1 0B1 0REDUCE_GRAD 0U0{collective 0}\n"
        "collective 0: d0 0REDUCE_GRAD d1 0REDUCE_GRAD, 1000 bytes, 1200 ticks\n");
}

TEST_CASE(
    "a synchronous device updates all its stages after its last backward, reductions stand as early as they can") {
  const Schedule schedule = generate("chimera", {.num_devices = 2, .num_microbatches = 2});
  Schedule bare = schedule;
  for (DeviceList& list : bare.devices) {
    list.actions = expand(list);
    list.repeats.clear();
    std::erase_if(list.actions, [](const Action& a) { return a.op == Op::kU || a.op == Op::kReduceGrad; });
  }
  CHECK(lowered(bare, costs_for(bare)) ==
        "d0: 0F0 1:1F1{1:0F1} 1:1B1 1:1REDUCE_GRAD 0B0{1B0} 0REDUCE_GRAD 0U0{collective 0} 1:1U0{collective 1}\n"
        "d1: 1:0F1 1F0{0F0} 1B0 1REDUCE_GRAD 1:0B1{1:1B1} 1:0REDUCE_GRAD 1U0{collective 1} 1:0U0{collective 0}\n"
        "collective 0: d0 0REDUCE_GRAD d1 1:0REDUCE_GRAD, 0 bytes, 0 ticks\n"
        "collective 1: d1 1REDUCE_GRAD d0 1:1REDUCE_GRAD, 0 bytes, 0 ticks\n");
}

TEST_CASE("§3.1: stages that share a weight reduce it together, and it leaves the stages' own reductions") {
  const Schedule schedule = chain({"0F0 0B0", "1F0 1B0"}, 1);
  StageCosts costs = costs_with_memory(schedule);
  costs.tied = {{StageId{0}, StageId{1}, 600}};
  CHECK(lowered(schedule, costs) ==
        "d0: 0F0 0B0{1B0} 0REDUCE_GRAD 0U0{collective 0}\n"
        "d1: 1F0{0F0} 1B0 1REDUCE_GRAD 1U0{collective 0}\n"
        "collective 0 (tied): d0 0REDUCE_GRAD d1 1REDUCE_GRAD, 600 bytes, 0 ticks\n");
}

TEST_CASE("a weight shared by two stages of an asynchronous schedule is refused") {
  Schedule schedule = chain({"0F0 0B0", "1F0 1B0"}, 1);
  schedule.weights.policy = WeightPolicy::kLatest;
  StageCosts costs = costs_for(schedule);
  costs.tied = {{StageId{0}, StageId{1}, 600}};
  CHECK_THROWS_WITH_AS(
      lower(schedule, costs),
      "schedule 'by hand': stages 0 and 1 share a weight; expected a synchronous schedule, or both ends in one stage",
      Error);
}

TEST_CASE("a weight shared by two stages is refused where copies of the model are not reduced together") {
  const Schedule schedule = generate("mlora", {.num_devices = 2, .num_microbatches = 2});
  StageCosts costs = costs_for(schedule);
  costs.tied = {{StageId{0}, StageId{1}, 600}};
  CHECK_THROWS_WITH_AS(lower(schedule, costs),
                       "schedule 'mlora': stages 0 and 1 share a weight; expected a synchronous schedule whose copies "
                       "of the model are reduced together, or both ends in one stage",
                       Error);
}

TEST_CASE("a forward-only document gets no updates and no reductions") {
  Schedule schedule = chain({"0F0 0F1", "1F0 1F1"}, 2);
  schedule.forward_only = true;
  CHECK(lowered(schedule, costs_for(schedule)) == "d0: 0F0 0F1\nd1: 1F0{0F0} 1F1{0F1}\n");
}

TEST_CASE("extra edges wait directly, whatever the ops") {
  Schedule schedule = chain({"0F0 0B0", "1F0 1B0"}, 1);
  schedule.extra_edges = {{parse_action("0B0", "test"), parse_action("1U0", "test")}};
  CHECK(lowered(schedule, costs_for(schedule)) == "d0: 0F0 0B0{1B0} 0U0\nd1: 1F0{0F0} 1B0 1U0{0B0}\n");
}

TEST_CASE("lowering keeps the order of the document and passes the check for every schedule of the catalogue") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int32_t p : {2, 4}) {
      CAPTURE(spec.name);
      CAPTURE(p);
      const Schedule schedule = generate(spec.name, {.num_devices = p, .num_microbatches = 12});
      const Cluster cluster = cluster_of(p);
      const Program program = lower(schedule, costs_with_memory(schedule), &cluster);
      CHECK(check_program(program) == std::vector<std::string>{});
      for (std::int32_t d = 0; d < p; ++d) {
        std::vector<Action> lane;
        for (InstrIndex at = program.lane_begin[static_cast<std::size_t>(d)];
             at < program.lane_begin[static_cast<std::size_t>(d) + 1]; ++at) {
          const Action& action = program.instrs[at].action;
          const bool second_half = action.op == Op::kSyncWeights && !lane.empty() && lane.back() == action;
          if (!second_half) lane.push_back(action);
        }
        CHECK(lane == expand(schedule.devices[static_cast<std::size_t>(d)]));
      }
    }
  }
}

TEST_CASE("in a topological order everything an instr waits for comes first, for every schedule of the catalogue") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    const Schedule schedule = generate(spec.name, {.num_devices = 4, .num_microbatches = 12});
    const Cluster cluster = cluster_of(4);
    const Program program = lower(schedule, costs_for(schedule), &cluster);
    const std::vector<InstrIndex> order = topological_order(program);
    REQUIRE(order.size() == program.size());
    std::vector<std::size_t> place(program.size(), program.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    std::vector<InstrIndex> lane_ends(program.lane_begin.begin() + 1, program.lane_begin.end());
    for (InstrIndex at = 0; at < program.size(); ++at) {
      const bool ends_lane = std::find(lane_ends.begin(), lane_ends.end(), at + 1) != lane_ends.end();
      if (!ends_lane) CHECK(place[at] < place[at + 1]);
      for (std::uint32_t i = program.instrs[at].first_wait; i < program.instrs[at + 1].first_wait; ++i) {
        CHECK(place[program.waits[i].source] < place[at]);
      }
    }
  }
}

TEST_CASE("an absurd document is refused before it is expanded") {
  Schedule schedule = chain({"0F0"}, 1);
  schedule.devices[0].repeats = {{0, 1, std::int64_t{1} << 40, {1, 0, 0}}};
  CHECK_THROWS_WITH_AS(lower(schedule, costs_for(schedule)), doctest::Contains("expands to more than"), Error);
}

TEST_CASE("§3.2: updates that a document leaves out come after its own reductions, and gathers do nothing") {
  const Schedule schedule = chain({"0UNSHARD 0F0 0F1 0B0 0B1 0REDUCE_GRAD 0RESHARD"}, 2);
  const Program program = lower(schedule, costs_for(schedule));
  std::string lane;
  for (std::size_t i = 0; i < program.size(); ++i) lane += to_string(program.instrs[i].action) + " ";
  CHECK(lane == "0F0 0F1 0B0 0B1 0U0 ");
  Schedule twice =
      chain({"0F0 0B0 0REDUCE_GRAD 1:1F1 1:1B1 1:1REDUCE_GRAD", "1F0 1B0 1REDUCE_GRAD 1:0F1 1:0B1 1:0REDUCE_GRAD"}, 2);
  twice.placement.push_back({{DeviceId{1}}, {DeviceId{0}}});
  const Program reduced = lower(twice, costs_for(twice));
  lane.clear();
  for (std::size_t i = 0; i < reduced.lane_begin[1]; ++i) lane += to_string(reduced.instrs[i].action) + " ";
  CHECK(lane == "0F0 0B0 0REDUCE_GRAD 1:1F1 1:1B1 1:1REDUCE_GRAD 0U0 1:1U0 ");
}

TEST_CASE("edges between stages follow the layers of a network: what is given is taken, and what is taken is given") {
  Schedule schedule = chain({"0F0 0B0", "1F0 1B0", "2F0 2B0"}, 1);
  StageCosts costs = costs_for(schedule);
  costs.from_network = true;
  costs.memory.assign(3,
                      StageMemory{.input_bytes = 8, .output_bytes = 8, .output_grad_bytes = 4, .input_grad_bytes = 4});
  costs.memory[0].input_bytes = costs.memory[0].input_grad_bytes = 0;
  costs.memory[2].output_bytes = costs.memory[2].output_grad_bytes = 0;
  using Edges = std::vector<std::pair<StageId, StageId>>;
  const auto told = [&](const Edges& edges) {
    schedule.stage_edges = edges;
    try {
      lower(schedule, costs);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string begin = "schedule 'by hand': stage_edges: ";
  const std::string end = "; expected edges that follow the layers of the network";
  const Edges whole{{StageId{0}, StageId{1}}, {StageId{1}, StageId{2}}};
  CHECK(told(whole) == "");
  CHECK(told({{StageId{0}, StageId{1}}}) == begin + "none leads on from stage 1, which gives 8 bytes" + end);
  CHECK(told({{StageId{1}, StageId{2}}}) == begin + "none leads on from stage 0, which gives 8 bytes" + end);
  CHECK(told({{StageId{0}, StageId{2}}, {StageId{1}, StageId{2}}}) ==
        begin + "none leads to stage 1, which takes 8 bytes" + end);
  costs.memory[1].input_bytes = 6;
  CHECK(told(whole) == begin + "stage 0 gives 8 bytes to stage 1, which takes 6 bytes" + end);
  costs.memory[1].input_bytes = 8;
  costs.memory[1].input_grad_bytes = 6;
  CHECK(told(whole) == begin + "stage 0 gives 8 bytes to stage 1, which takes 8 bytes" + end);
  costs.memory[1].input_grad_bytes = 4;
  costs.memory[0].input_grad_bytes = 3;  // a gradient is something that a stage takes, too
  CHECK(told(whole) == begin + "none leads to stage 0, which takes 3 bytes" + end);
  costs.from_network = false;
  CHECK(told(whole) == "");
}

TEST_CASE("costs and memory are for as many stages as the schedule has") {
  const Schedule schedule = chain({"0F0 0B0", "1F0 1B0"}, 1);
  StageCosts costs = costs_with_memory(schedule);
  costs.memory.pop_back();
  CHECK_THROWS_WITH_AS(lower(schedule, costs), "schedule 'by hand': memory of 1 stages given; expected 2", Error);
  costs.times.pop_back();
  CHECK_THROWS_WITH_AS(lower(schedule, costs), "schedule 'by hand': costs of 1 stages given; expected 2", Error);
}

TEST_CASE("what no executor can honour is refused by name") {
  Schedule small = chain({"0F0 0B0", "1F0 1B0"}, 1);
  const Cluster cluster = cluster_of(1);
  CHECK_THROWS_WITH_AS(lower(small, costs_for(small), &cluster),
                       "schedule 'by hand': needs 2 devices; the cluster 'test' has 1", Error);
}

}  // namespace plumb

TEST_SUITE_END();
