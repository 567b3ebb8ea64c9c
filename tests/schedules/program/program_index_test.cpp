#include "schedules/program/program_index.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/waits.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb {
namespace {

Program lowered_on_links(const std::string& name) {
  const Schedule schedule = generate(name, {.num_devices = 4, .num_microbatches = 8});
  StageCosts costs;
  costs.times.assign(static_cast<std::size_t>(schedule.num_stages), StageTimes{.f = 1, .b = 1, .i = 1, .w = 1});
  Cluster cluster;
  cluster.devices.resize(4);
  cluster.devices_per_node = 4;
  cluster.finish();
  return lower(schedule, costs, &cluster);
}

/// The keys under which `lists` has transfer `t`; empty where transfers of a key are not in order of index.
std::vector<std::size_t> keys_of(const IndexLists& lists, std::uint32_t t) {
  std::vector<std::size_t> keys;
  for (std::size_t key = 0; key + 1 < lists.begin.size(); ++key) {
    const auto items = lists.of(key);
    if (!std::ranges::is_sorted(items)) return {};
    if (std::ranges::find(items, t) != items.end()) keys.push_back(key);
  }
  return keys;
}

}  // namespace

TEST_CASE("every list of a program's index has a transfer once, at the instr that the transfer names") {
  for (const std::string name : {"1f1b", "zb-v", "dualpipe"}) {
    CAPTURE(name);
    const Program program = lowered_on_links(name);
    const ProgramIndex indexed(program);
    std::size_t before_instrs = 0;
    for (std::uint32_t t = 0; t < program.transfers.size(); ++t) {
      const Transfer& transfer = program.transfers[t];
      CHECK(keys_of(indexed.made(), t) == std::vector<std::size_t>{transfer.producer});
      CHECK(keys_of(indexed.issued(), t) == std::vector<std::size_t>{transfer.issue});
      CHECK(keys_of(indexed.posted(), t) == std::vector<std::size_t>{transfer.post});
      if (is_awaited_at_end(program, transfer)) continue;
      CHECK(keys_of(indexed.sent(), t) == std::vector<std::size_t>{transfer.sent});
      ++before_instrs;
    }
    CHECK(before_instrs > 0);
  }
}

TEST_CASE("sends that are awaited at a lane's end stand at that lane's end and not at the next lane's first instr") {
  const Program program = lowered_on_links("1f1b");
  const ProgramIndex indexed(program);
  std::size_t at_ends = 0;
  for (std::uint32_t t = 0; t < program.transfers.size(); ++t) {
    if (!is_awaited_at_end(program, program.transfers[t])) continue;
    const DeviceId sender = program.channels[program.transfers[t].channel].from;
    CHECK(keys_of(indexed.sent(), t) == std::vector<std::size_t>{indexed.lane_end(sender)});
    ++at_ends;
  }
  CHECK(at_ends > 0);
}

}  // namespace plumb
