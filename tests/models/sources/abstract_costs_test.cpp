#include "models/sources/abstract_costs.hpp"

#include <numeric>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::error_message;

namespace {

constexpr std::int64_t kUnit = 1'000'000;  // ticks of one unit when one tick is a nanosecond

StageTimes times_of(std::string_view list, const AbstractCostOptions& options = {}) {
  return abstract_costs(list, "", options).times.at(0);
}

std::string refusal(std::string_view times, std::string_view memory = "") {
  return error_message([&] { abstract_costs(times, memory, {}); });
}

StageMemory memory_of(std::string_view list) { return abstract_costs("F=1", list, {}).memory.at(0); }

std::int64_t bytes_of(const StageMemory& memory, std::string_view name) {
  for (const StashTensor& tensor : memory.stash) {
    if (tensor.name == name) return tensor.bytes;
  }
  return 0;
}

}  // namespace

TEST_CASE("one unit is a millisecond and every stage costs the same") {
  const StageCosts costs = abstract_costs("F=1,B=2,comm=0.5", "", {.num_stages = 3});
  REQUIRE(costs.times.size() == 3);
  CHECK(costs.base.ticks_per_ns == 1);
  CHECK(costs.comm == kUnit / 2);
  CHECK(costs.memory.empty());
  for (const StageTimes& stage : costs.times) {
    CHECK(stage.f == kUnit);
    CHECK(stage.b == 2 * kUnit);
  }
}

TEST_CASE("thirds stay exact: three of them are one") {
  const StageCosts costs = abstract_costs("F=1,I=0.5,W=1/3,comm=1/7", "", {});
  CHECK(costs.base.ticks_per_ns == 21);
  CHECK(costs.times[0].f == 21 * kUnit);
  CHECK(2 * costs.times[0].i == costs.times[0].f);
  CHECK(3 * costs.times[0].w == costs.times[0].f);
  CHECK(7 * costs.comm.value() == costs.times[0].f);
  CHECK(to_ns(costs.times[0].f, costs.base) == kUnit);
}

TEST_CASE("B is I + W, from whichever of them are given") {
  struct Case {
    const char* list;
    std::int64_t b, i, w;  // in quarters of a unit
  };
  for (const Case& c : {Case{"F=1,B=2", 8, 4, 4}, Case{"F=1,B=2,I=0.5", 8, 2, 6}, Case{"F=1,B=2,W=0.5", 8, 6, 2},
                        Case{"F=1,I=1,W=0.25", 5, 4, 1}, Case{"F=1,I=1", 4, 4, 0}, Case{"F=1,W=1", 4, 0, 4},
                        Case{"F=1,B=2,I=1.5,W=0.5", 8, 6, 2}, Case{"F=1,B=2,I=2", 8, 8, 0}, Case{"F=1", 0, 0, 0}}) {
    CAPTURE(c.list);
    const StageTimes stage = times_of(c.list);
    CHECK(stage.b == c.b * kUnit / 4);
    CHECK(stage.i == c.i * kUnit / 4);
    CHECK(stage.w == c.w * kUnit / 4);
  }
}

TEST_CASE("contradictions between B, I and W are refused with the three values") {
  CHECK(refusal("F=1,B=2,I=1,W=0.5") == "costs 'F=1,B=2,I=1,W=0.5': B must be I + W: B is 2, I is 1, W is 1/2");
  CHECK(refusal("B=1,I=2") == "costs 'B=1,I=2': B must be I + W: B is 1, I is 2, W is not given");
}

TEST_CASE("what is not given is 0, and R is F when the schedule recomputes") {
  const StageTimes plain = times_of("F=3,B=4");
  CHECK(plain.r == 0);
  CHECK(plain.pairs == PairTimes{});
  CHECK(plain.f_comm == CommTime{});
  CHECK(plain.i_comm == CommTime{});
  CHECK(plain.u == 0);
  CHECK(plain.x == 0);
  CHECK(plain.evict == 0);
  CHECK(plain.load == 0);
  CHECK(plain.all_reduce == 0);
  CHECK(abstract_costs("F=1", "", {}).comm == 0);
  CHECK(times_of("F=3", {.recompute = true}).r == 3 * kUnit);
  CHECK(times_of("F=3,R=2", {.recompute = true}).r == 2 * kUnit);
  const StageTimes all = times_of("F=1,R=2,FB=3,U=4,X=5,AR=6,EVICT=7,LOAD=8");
  CHECK(all.r + 10 * all.pairs.ticks[PairTimes::place(0, 1)] + 100 * all.u + 1000 * all.x ==
        (2 + 30 + 400 + 5000) * kUnit);
  CHECK(all.all_reduce + 10 * all.evict + 100 * all.load == (6 + 70 + 800) * kUnit);
}

TEST_CASE("every pair of passes has a key of its own, in the order F B I W R") {
  for (std::size_t one = 0; one < kPairedPasses.size(); ++one) {
    for (std::size_t other = one; other < kPairedPasses.size(); ++other) {
      const std::string key{kPairedPasses[one], kPairedPasses[other]};
      CAPTURE(key);
      PairTimes expected;
      expected.ticks[PairTimes::place(other, one)] = 3 * kUnit;
      CHECK(times_of("F=1," + key + "=3").pairs == expected);
      CHECK(refusal("F=1," + key + "=0") == "costs 'F=1," + key + "=0': " + key + " must be above 0");
    }
  }
  CHECK(refusal("F=1,WF=1").find("unknown key 'WF'") != std::string::npos);
}

TEST_CASE("§4.8: communication comes on top of F, R and I, and B hides that of I in its weight half") {
  const StageTimes times = times_of("F=4,I=3,W=2,F.comm=1,I.comm=1.5", {.recompute = true});
  CHECK(times.f == 5 * kUnit);
  CHECK(times.f_comm == CommTime{kUnit, kUnit});
  CHECK(times.i_comm == CommTime{3 * kUnit / 2, 3 * kUnit / 2});
  CHECK(times.b_comm == CommTime{3 * kUnit / 2, 0});
  CHECK(times.r == 5 * kUnit);
  CHECK(times.i == 4.5 * kUnit);
  CHECK(times.b == 5 * kUnit);
  CHECK(times.w == 2 * kUnit);
  CHECK(times_of("F=4,I=3,W=2,I.comm=2.5").b == 5.5 * kUnit);
  CHECK(times_of("F=4,I=3,W=2,I.comm=2.5").b_comm.shown == kUnit / 2);
  CHECK(times_of("F=4,F.comm=1").r == 0);
  CHECK(times_of("F=4,R=2,F.comm=1").r == 3 * kUnit);
}

TEST_CASE("costs of several stages together are divided exactly, transfers are not") {
  const StageCosts costs = abstract_costs("F=1,B=2,comm=1", "F=1,W=-1", {.num_stages = 6, .stages_together = 3});
  CHECK(costs.base.ticks_per_ns == 3);
  CHECK(3 * costs.times[0].f == costs.comm.value());
  CHECK(costs.memory_units_per_one == 3);
  CHECK(bytes_of(costs.memory[0], "kept_for_weight_grad") == 1);
}

TEST_CASE("the stash follows from the changes of F, I and W") {
  const StageMemory all_for_w = memory_of("F=1,I=0,W=-1");
  CHECK(all_for_w.stash.size() == 1);
  CHECK(bytes_of(all_for_w, "kept_for_weight_grad") == 1);

  const StageCosts half = abstract_costs("F=1", "F=1,I=-0.25,W=-0.75", {});
  CHECK(half.memory_units_per_one == 4);
  CHECK(bytes_of(half.memory[0], "kept_for_input_grad") == 1);
  CHECK(bytes_of(half.memory[0], "kept_for_weight_grad") == 3);

  const StageMemory grows = memory_of("F=2,I=1,W=-3");
  CHECK(bytes_of(grows, "kept_for_weight_grad") == 2);
  CHECK(bytes_of(grows, "made_by_input_grad") == 1);
  CHECK(grows.stash.back().made_by == StashTensor::MadeBy::kInputGrad);

  CHECK(bytes_of(memory_of("F=1,B=-1"), "kept_for_input_grad") == 1);
}

TEST_CASE("memory that does not add up is refused") {
  CHECK(refusal("F=1", "F=1,I=0") == "memory 'F=1,I=0': F + I + W must be 0, what was made must be freed: it is 1");
  CHECK(refusal("F=1", "F=-1,W=1") == "memory 'F=-1,W=1': F must be at least 0 and W at most 0");
  CHECK(refusal("F=1", "F=1,I=-2,W=1") == "memory 'F=1,I=-2,W=1': F must be at least 0 and W at most 0");
  CHECK(refusal("F=1", "F=1,I=-1,B=0") == "memory 'F=1,I=-1,B=0': give I or B, not both: they mean the same here");
}

TEST_CASE("keys may be written as people write them, in any case, with blanks between and times in ms") {
  const StageCosts costs = abstract_costs("F=1,B=2,comm=0.5", "", {.num_stages = 3});
  for (const char* list : {"f=1,b=2,COMM=0.5", "fwd=1,bwd=2,p2p=0.5", "Forward=1ms,Backward=2ms,comm=0.5ms",
                           "F=1 B=2 comm=0.5", " F=1,  B=2 ,comm=1/2 "}) {
    CAPTURE(list);
    const StageCosts like = abstract_costs(list, "", {.num_stages = 3});
    CHECK(like.times == costs.times);
    CHECK(like.comm == costs.comm);
  }
  CHECK(refusal("f=1,F=2") == "costs 'f=1,F=2': 'F' is given twice");
  CHECK(refusal("F = 1") == "costs 'F = 1': 'F' is not KEY=VALUE, expected a list such as F=1,B=2");
  CHECK(refusal("F=1s").find("'1s' is not a number") != std::string::npos);
}

TEST_CASE("a list that is no list of costs is refused with what was expected") {
  CHECK(refusal("F=1,com=2") == "costs 'F=1,com=2': unknown key 'com' (did you mean 'comm'?)");
  CHECK(refusal("F=1,F=2") == "costs 'F=1,F=2': 'F' is given twice");
  CHECK(refusal("F=1,,B=2") == "costs 'F=1,,B=2': '' is not KEY=VALUE, expected a list such as F=1,B=2");
  CHECK(refusal("") == "costs '': '' is not KEY=VALUE, expected a list such as F=1,B=2");
  CHECK(refusal("1,2") == "costs '1,2': '1' is not KEY=VALUE, expected a list such as F=1,B=2");
  CHECK(refusal("F=1", "4") == "memory '4': '4' is not KEY=VALUE, expected a list such as F=1,I=0,W=-1");
  CHECK(refusal("F=1", "F=1ms,W=-1").find("'1ms' is not a number") != std::string::npos);
  CHECK(refusal("F=one") == "costs 'F=one': 'one' is not a number, expected something like 2, 0.5 or 1/3");
  CHECK(refusal("F=-1") == "costs 'F=-1': F must be at least 0");
  CHECK(refusal("F=1,FB=0") == "costs 'F=1,FB=0': FB must be above 0");
  CHECK(refusal("F=1,comm=-1") == "costs 'F=1,comm=-1': comm must be at least 0");
}

TEST_CASE("§4.8: stages that start together take S and T, and no units of memory") {
  const StageCosts costs = abstract_costs("F=1,B=3,S=1/2,T=2", "F=1,B=-1", {.num_stages = 3, .shares = {StageId{1}}});
  CHECK(costs.base.ticks_per_ns == 1);
  CHECK(costs.times[0].f == kUnit);
  CHECK(costs.times[1].f == kUnit / 2);
  CHECK(costs.times[1].b == 2 * kUnit);
  CHECK(costs.times[1].i == 0);
  CHECK(costs.times[1].w == 2 * kUnit);
  CHECK(costs.times[2].b == 3 * kUnit);
  CHECK(costs.memory[0].stash.size() == 1);
  CHECK(costs.memory[1].stash.empty());
}

TEST_CASE("costs that no clock can hold are refused") {
  // 2^53 ticks of 1 ns, or of 1/3 ns: 9007199254.740992 and 3002399751.580330 units of 1 ms.
  CHECK(refusal("F=9007199254.740992").empty());
  CHECK(refusal("F=9007199254.740993") ==
        "costs 'F=9007199254.740993': 9007199254740993/1000000 is too large; expected at most 9007199254.74");
  CHECK(refusal("F=3002399751,B=1/3").empty());
  CHECK(refusal("F=3002399752,B=1/3") ==
        "costs 'F=3002399752,B=1/3': 3002399752 is too large; expected at most 3002399751.58, because the fractions of "
        "all "
        "values need a unit of 1/3 ns");
  CHECK(refusal("F=100000000000000") ==
        "costs 'F=100000000000000': 100000000000000 is too large; expected at most 9007199254.74");
  CHECK(refusal("F=1/7,B=1/11,U=1/13,R=1/17,X=1/19,AR=1/23,LOAD=1/29,EVICT=1/31,comm=1/37")
            .find("because the fractions of all values need a unit of 1/") != std::string::npos);
}

TEST_SUITE_END();
