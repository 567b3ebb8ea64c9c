#include "schedules/program/program.hpp"
#include "schedules/program/check_program.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/program_text.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb {
namespace {

Program lowered(const std::string& name, std::int64_t updates = 1) {
  const Schedule schedule = generate(name, {.num_devices = 2, .num_microbatches = 2, .updates = updates});
  StageCosts costs;
  costs.times.assign(2, StageTimes{.f = 1, .b = 2});
  Cluster cluster;
  cluster.devices.resize(2);
  cluster.devices_per_node = 2;
  cluster.finish();
  return lower(schedule, costs, &cluster);
}

/// What the check says once `spoil` has been at a good program.
std::vector<std::string> findings(Program program, const std::function<void(Program&)>& spoil) {
  REQUIRE(check_program(program).empty());
  spoil(program);
  return check_program(program);
}

}  // namespace

TEST_CASE("a program reads as lanes, transfers, collectives and kept versions") {
  CHECK(program_to_text(lowered("1f1b")) ==
        "d0: 0F0 0F1 0B0{1B0} 0B1{1B1} 0U0\n"
        "d1: 1F0{0F0} 1B0 1F1{0F1} 1B1 1U0\n"
        "d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent end, 0 bytes\n"
        "d0>d1 SEND_F 0F1 -> 1F1, issued 0F1, posted 1B0, sent end, 0 bytes\n"
        "d1>d0 SEND_B 1B0 -> 0B0, issued 1B0, posted 0F1, sent end, 0 bytes\n"
        "d1>d0 SEND_B 1B1 -> 0B1, issued 1B1, posted 0B0, sent end, 0 bytes\n");
  const std::string stashed = program_to_text(lowered("pipedream", 3));
  CHECK(stashed.find("d0: 0F0[v0] 0F1[v0] 0B0[v0]{1B0} 0F2[v0] 0B1[v0]{1B1} 0U0 0F3[v1] 0B2[v0]{1B2}") == 0);
  CHECK(stashed.find("d0 stage 0 keeps v0 from 0U0 to 0B2\n") != std::string::npos);
}

TEST_CASE("the check finds every way in which a program can contradict itself") {
  const Program good = lowered("1f1b");
  const auto finds = [&](const std::string& expected, const std::function<void(Program&)>& spoil) {
    CAPTURE(expected);
    const std::vector<std::string> found = findings(good, spoil);
    REQUIRE(found.size() >= 1);
    CHECK(found.front() == expected);
  };
  finds("lanes: offsets do not cover the instrs", [](Program& p) { p.lane_begin.back() -= 1; });
  finds("instrs: rows or waits out of range", [](Program& p) { p.instrs[0].row = 99; });
  finds("0F0: its row belongs to another holder", [](Program& p) { p.instrs[0].row = p.instrs[5].row; });
  finds("0U0: the other half of its pair is missing", [](Program& p) { p.instrs[4].action.overlaps_next = 1; });
  finds("0F0: its row says otherwise whether it is the first of a pair",
        [](Program& p) { p.instrs[0].action.overlaps_next = 1; });
  finds("0B0: waits for something later in its own lane", [](Program& p) { p.waits[0] = {3, Wait::kDirect}; });
  finds("0B0: waits for a transfer that is not its own", [](Program& p) { p.waits[0].via = 0; });
  finds("0B0: no such collective", [](Program& p) { p.waits[0].via = Wait::kCollectiveBit; });
  finds("transfer 0: no such channel", [](Program& p) { p.transfers[0].channel = 7; });
  finds("transfer 0: issued outside the sender's lane or before its value exists",
        [](Program& p) { p.transfers[0].issue = 5; });
  finds("transfer 0: waited for before it is issued", [](Program& p) { p.transfers[0].sent = 0; });
  finds("transfer 0: posted outside the receiver's lane or after its consumer",
        [](Program& p) { p.transfers[0].post = 6; });
  CHECK(findings(good, [](Program& p) { std::swap(p.transfers[0], p.transfers[1]); }).back() ==
        "transfer 1: not in the order of its channel");
}

TEST_CASE("a kept version must lie between its update and a reader of it") {
  const Program good = lowered("pipedream", 3);
  REQUIRE_FALSE(good.kept_versions.empty());
  CHECK(findings(good, [](Program& p) { p.kept_versions[0].version += 1; }).size() == 1);
  CHECK(findings(good, [](Program& p) { p.kept_versions[0].replaced_by = 0; }).size() == 1);
}

}  // namespace plumb

TEST_SUITE_END();
