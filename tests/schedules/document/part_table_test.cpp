#include "schedules/document/part_table.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/sources/abstract_costs.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb {
namespace {

std::vector<std::string> visited(const PartTable& parts, const std::string& action) {
  std::vector<std::string> all;
  parts.for_each(parse_action(action, "test"), [&](std::size_t microbatch, std::size_t slice, std::size_t part) {
    all.push_back(std::to_string(microbatch) + "." + std::to_string(slice) + ":" + std::to_string(part));
  });
  return all;
}

}  // namespace

TEST_CASE("an action names the slices of its microbatches, in order; alike microbatches share their parts") {
  Schedule schedule = testing::written_schedule({"0F0 0F1 0F2"}, 3);
  CHECK(PartTable(schedule).plain());
  schedule.slices = Slices{Slices::Axis::kSequence, {{1, 3}, {2, 2}, {1, 3}}};
  const PartTable parts(schedule);
  CHECK_FALSE(parts.plain());
  CHECK(parts.causal());
  CHECK(parts.kinds() == 2);
  CHECK(visited(parts, "0F1+2") == std::vector<std::string>{"1.0:2", "1.1:3", "2.0:0", "2.1:1"});
  CHECK(visited(parts, "0F2.1") == std::vector<std::string>{"2.1:1"});
}

TEST_CASE("rows that are not one for each microbatch are refused") {
  Schedule schedule = testing::written_schedule({"0F0 0F1 0F2"}, 3);
  schedule.slices = Slices{Slices::Axis::kBatch, {{1, 1}, {2}}};
  CHECK_THROWS_WITH_AS(PartTable{schedule},
                       "schedule 'written': slices.lengths has 2 entries; expected one for each of the 3 microbatches",
                       Error);
  schedule.slices.reset();
  schedule.microbatch_sizes = {1, 2};
  CHECK_THROWS_AS(PartTable{schedule}, Error);
}

TEST_CASE("a value travels slice by slice where either end is sliced, and as one where both are whole") {
  Schedule schedule = testing::written_schedule({"0F0 0F1.0 0F1.1 0B0 0B1", "1F0.0 1F0.1 1F1 1B0 1B1.0 1B1.1"}, 2);
  schedule.slices = Slices{Slices::Axis::kBatch, {{1, 3}}};
  StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = 2});
  costs.comm.reset();
  StageMemory memory;
  memory.output_bytes = memory.input_bytes = memory.output_grad_bytes = memory.input_grad_bytes = 8;
  costs.memory.assign(2, memory);
  Cluster cluster;
  cluster.devices.resize(2);
  cluster.devices_per_node = 2;
  cluster.finish();
  std::vector<std::int64_t> bytes;
  for (const Transfer& transfer : lower(schedule, costs, &cluster).transfers) bytes.push_back(transfer.bytes);
  CHECK(bytes == std::vector<std::int64_t>{2, 6, 2, 6, 8, 2, 6});
}

TEST_CASE("EVICT and LOAD are transfers of their device, and weights that are loaded first start away") {
  const Schedule schedule =
      testing::written_schedule({"0LOAD@host 0F0 0EVICT0@1 0F1 0B1 0LOAD0@1 0B0", "1F0 1F1 1B1 1B0"}, 2);
  const Program program = lower(schedule, abstract_costs("F=1,B=2,EVICT=1,LOAD=1", "", {.num_stages = 2}));
  REQUIRE(program.moves.size() == 3);
  CHECK(program.holders[0].weights_start_away);
  CHECK(program.moves[0].weights);
  CHECK(program.moves[1].guest == DeviceId{1});
  CHECK(program.moves[1].held_from < program.moves[1].held_until);
  const Transfer& load = program.transfers[program.moves[2].transfer];
  CHECK(to_string(program.instrs[load.consumer].action) == "0B0");
  CHECK_THROWS_AS(lower(testing::written_schedule({"0F0 0EVICT0@0 0LOAD0@0 0B0"}, 1),
                        abstract_costs("F=1,B=2", "", {.num_stages = 1})),
                  Error);
}

}  // namespace plumb

TEST_SUITE_END();
