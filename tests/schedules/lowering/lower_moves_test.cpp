#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/check_program.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/lines.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// A stage keeps its input of 2 bytes and a stash of 30; its weights are 100 bytes.
StageCosts move_costs(const Schedule& schedule, bool from_network = true) {
  StageCosts costs;
  const auto stages = static_cast<std::size_t>(schedule.num_stages);
  costs.times.assign(stages, StageTimes{.f = 12, .b = 24, .i = 12, .w = 12, .r = 6, .evict = 7, .load = 9});
  StageMemory memory{.weight_bytes = 100, .input_bytes = 2, .input_last_use = LastUse::kWeightGrad, .output_bytes = 2};
  memory.stash = {{.name = "all", .bytes = 30}};
  costs.memory.assign(stages, memory);
  costs.from_network = from_network;
  return costs;
}

Cluster copying_cluster(std::int32_t devices) {
  Cluster cluster;
  cluster.devices.resize(static_cast<std::size_t>(devices));
  cluster.devices_per_node = devices;
  cluster.intra_node = {.latency_ns = 100, .bytes_per_s = 1e9};
  cluster.host_link = {.latency_ns = 50, .bytes_per_s = 3e9};
  cluster.finish();
  return cluster;
}

std::string instr_name(const Program& program, InstrIndex at) {
  return at < program.size() ? to_string(program.instrs[at].action) : "end";
}

/// A line for every move: what, its bytes, the copy's amount and rate, who waits for it, when the sender does, and
/// where a guest holds it.
std::string moves_text(const Program& program) {
  std::string text;
  for (const Move& move : program.moves) {
    const Transfer& transfer = program.transfers[move.transfer];
    const Route& route = program.channels[transfer.channel].route;
    const InstrIndex end = program.lane_begin[index(program.channels[transfer.channel].from) + 1];
    text += instr_name(program, transfer.issue) +
            (move.weights      ? " weights "
             : move.input_only ? " input "
                               : " stash ") +
            std::to_string(move.bytes) + ", channel " + std::to_string(transfer.channel) + ": " +
            std::to_string(transfer.bytes) + " at " +
            std::to_string(static_cast<std::int64_t>(route.bytes_per_s / 1e6)) + ", for " +
            instr_name(program, transfer.consumer) + ", over before " +
            (transfer.sent == end ? "end" : instr_name(program, transfer.sent));
    if (move.guest != Move::kHost && program.op_of(move.transfer) == Op::kEvict) {
      text +=
          ", on " + std::to_string(index(move.guest)) + " from " + instr_name(program, move.held_from) + " to " +
          (move.held_until == program.lane_begin[index(move.guest) + 1] ? "end" : instr_name(program, move.held_until));
    }
    text += "\n";
  }
  for (const SharedLink& link : program.shared_links) {
    text += link.name + " " + std::to_string(static_cast<std::int64_t>(link.bytes_per_s / 1e6));
    for (std::size_t c = 0; c < program.channels.size(); ++c) {
      for (const std::int32_t shared : program.channels[c].route.shared) {
        if (program.shared_links[static_cast<std::size_t>(shared)] == link) text += " " + std::to_string(c);
      }
    }
    text += "\n";
  }
  return text;
}

std::string moves_of(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster) {
  const Program program = lower(schedule, costs, cluster);
  CHECK(check_program(program) == std::vector<std::string>{});
  return moves_text(program);
}

Schedule to_host() {
  return written_schedule({"0F0 0EVICT0@host 0F1 0EVICT1@host 0F2 0B2 0LOAD1@host 0B1 0LOAD0@host 0I0 0W0"}, 3);
}

Schedule to_neighbour() {
  return written_schedule({"0F0 0EVICT0@1 0F1 0F2 0B2 0B1 0LOAD0@1 0B0", "1F0 1B0 1F1 1B1 1F2 1B2"}, 3);
}

}  // namespace

TEST_CASE("copies to the host take the host's link where costs come from a network and the link is modelled") {
  const Schedule schedule = to_host();
  const Cluster cluster = copying_cluster(1);
  CHECK(moves_of(schedule, move_costs(schedule), &cluster) ==
        lines({"0EVICT0@host stash 32, channel 0: 32 at 3000, for 0EVICT0@host, over before 0EVICT1@host",
               "0EVICT1@host stash 32, channel 0: 32 at 3000, for 0EVICT1@host, over before 0LOAD1@host",
               "0LOAD1@host stash 32, channel 1: 32 at 3000, for 0B1, over before 0B1",
               "0LOAD0@host stash 32, channel 1: 32 at 3000, for 0I0, over before 0I0"}));
  // Otherwise they take the time that is given, at one byte per tick.
  const std::string given =
      lines({"0EVICT0@host stash 32, channel 0: 7 at 1000, for 0EVICT0@host, over before 0EVICT1@host",
             "0EVICT1@host stash 32, channel 0: 7 at 1000, for 0EVICT1@host, over before 0LOAD1@host",
             "0LOAD1@host stash 32, channel 1: 9 at 1000, for 0B1, over before 0B1",
             "0LOAD0@host stash 32, channel 1: 9 at 1000, for 0I0, over before 0I0"});
  CHECK(moves_of(schedule, move_costs(schedule), nullptr) == given);
  CHECK(moves_of(schedule, move_costs(schedule, false), nullptr) == given);
  CHECK(moves_of(schedule, move_costs(schedule, false), &cluster) == given);
  Cluster unmodelled = cluster;
  unmodelled.host_link.bytes_per_s = 0;
  CHECK(moves_of(schedule, move_costs(schedule), &unmodelled) == given);
  // Without a given time the link is the time.
  StageCosts no_time = move_costs(schedule, false);
  no_time.times[0].evict = no_time.times[0].load = 0;
  CHECK(moves_of(schedule, no_time, &cluster) ==
        lines({"0EVICT0@host stash 32, channel 0: 32 at 3000, for 0EVICT0@host, over before 0EVICT1@host",
               "0EVICT1@host stash 32, channel 0: 32 at 3000, for 0EVICT1@host, over before 0LOAD1@host",
               "0LOAD1@host stash 32, channel 1: 32 at 3000, for 0B1, over before 0B1",
               "0LOAD0@host stash 32, channel 1: 32 at 3000, for 0I0, over before 0I0"}));
}

TEST_CASE("copies to a neighbour take the way to it, share it with the messages, and are held there meanwhile") {
  const Schedule schedule = to_neighbour();
  Cluster cluster = copying_cluster(2);
  CHECK(moves_of(schedule, move_costs(schedule), &cluster) ==
        lines({"0EVICT0@1 stash 32, channel 2: 32 at 1000, for 0EVICT0@1, over before 0LOAD0@1, on 1 from 1B0 to end",
               "0LOAD0@1 stash 32, channel 3: 32 at 1000, for 0B0, over before 0B0", "device0>1 1000 0 2",
               "device1>0 1000 1 3"}));
  cluster.intra_node.half_duplex = true;
  cluster.finish();
  CHECK(moves_of(schedule, move_costs(schedule), &cluster) ==
        lines({"0EVICT0@1 stash 32, channel 2: 32 at 1000, for 0EVICT0@1, over before 0LOAD0@1, on 1 from 1B0 to end",
               "0LOAD0@1 stash 32, channel 3: 32 at 1000, for 0B0, over before 0B0", "device0-1 1000 0 1 2 3"}));
  CHECK(moves_of(schedule, move_costs(schedule), nullptr) ==
        lines({"0EVICT0@1 stash 32, channel 0: 7 at 1000, for 0EVICT0@1, over before 0LOAD0@1, on 1 from 1B0 to end",
               "0LOAD0@1 stash 32, channel 1: 9 at 1000, for 0B0, over before 0B0"}));
}

TEST_CASE("weights that come first start away, and the first action that computes with them waits") {
  const Schedule schedule = written_schedule({"0LOAD@host 0F0 0EVICT@host 0LOAD@host 0B0 0U0 0EVICT@host"}, 1);
  const Cluster cluster = copying_cluster(1);
  CHECK(moves_of(schedule, move_costs(schedule), &cluster) ==
        lines({"0LOAD@host weights 100, channel 0: 100 at 3000, for 0F0, over before 0F0",
               "0EVICT@host weights 100, channel 1: 100 at 3000, for 0EVICT@host, over before 0LOAD@host",
               "0LOAD@host weights 100, channel 0: 100 at 3000, for 0B0, over before 0B0",
               "0EVICT@host weights 100, channel 1: 100 at 3000, for 0EVICT@host, over before end"}));
  CHECK(lower(schedule, move_costs(schedule), &cluster).holders[0].weights_start_away);
  const Schedule stays = written_schedule({"0F0 0EVICT@host 0LOAD@host 0B0 0U0"}, 1);
  CHECK_FALSE(lower(stays, move_costs(stays), &cluster).holders[0].weights_start_away);
}

TEST_CASE("of a stash that recompute has dropped only the input moves, and of slices their own part") {
  Schedule schedule = written_schedule({"0F0 0EVICT0@host 0F1 0EVICT1@host 0B1 0LOAD0@host 0B0"}, 2);
  schedule.devices[0].actions.insert(schedule.devices[0].actions.begin() + 4, schedule.devices[0].actions[1]);
  schedule.devices[0].actions.erase(schedule.devices[0].actions.begin() + 3, schedule.devices[0].actions.begin() + 5);
  Recompute rule;
  rule.except_last_microbatch = true;
  schedule.recompute = {rule};
  const Cluster cluster = copying_cluster(1);
  CHECK(moves_of(schedule, move_costs(schedule), &cluster) ==
        lines({"0EVICT0@host input 2, channel 0: 2 at 3000, for 0EVICT0@host, over before 0LOAD0@host",
               "0LOAD0@host input 2, channel 1: 2 at 3000, for 0B0, over before 0B0"}));
  Schedule slices = written_schedule({"0F0.0 0EVICT0.0@host 0F0.1 0B0.1 0LOAD0.0@host 0B0.0"}, 1);
  slices.slices = Slices{Slices::Axis::kSequence, {{1, 3}}};
  CHECK(moves_of(slices, move_costs(slices), &cluster) ==
        lines({"0EVICT0.0@host stash 9, channel 0: 9 at 3000, for 0EVICT0.0@host, over before 0LOAD0.0@host",
               "0LOAD0.0@host stash 9, channel 1: 9 at 3000, for 0B0.0, over before 0B0.0"}));
}

TEST_CASE("a move to its own device, or to one that there is not, is refused") {
  const Cluster cluster = copying_cluster(2);
  const auto refused = [&](const std::string& where) {
    const Schedule schedule = written_schedule({"0F0 0EVICT0@" + where + " 0LOAD0@" + where + " 0B0", "1F0 1B0"}, 1);
    return error_message([&] { lower(schedule, move_costs(schedule), &cluster); });
  };
  CHECK(refused("1") == "");
  CHECK(refused("host") == "");
  CHECK(refused("0") == "0EVICT0@0: expected another device, 0 to 1, or @host");
  CHECK(refused("2") == "0EVICT0@2: expected another device, 0 to 1, or @host");
}

}  // namespace plumb::testing

TEST_SUITE_END();
