#include "sim/traces/readers/kineto.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

std::string event_of(const std::string& process, const std::string& arguments = "{}",
                     const std::string& times = R"("ts": 1.5, "dur": 2)") {
  return R"({"ph": "X", "cat": "user_annotation", "name": "PP:0F0", "tid": 1, "pid": )" + process + ", " + times +
         R"(, "args": )" + arguments + "}";
}

std::string joined_events(const std::vector<std::string>& events) {
  std::string all;
  for (const std::string& event : events) all += (all.empty() ? "" : ", ") + event;
  return R"({"baseTimeNanoseconds": 1000, "traceEvents": [)" + all + "]";
}

/// Ranks of a merged file as "0/2 1/2"; "refused" where it does not say them.
std::string ranks_of(const std::vector<std::string>& events) {
  std::string all;
  const std::string why = error_message([&] {
    for (const RankTrace& trace : read_kineto(joined_events(events) + "}", "merged.json")) {
      all += (all.empty() ? "" : " ") + std::to_string(trace.rank) + "/" + std::to_string(trace.world_size);
    }
  });
  if (!why.empty()) CHECK(why.starts_with("merged.json: does not say which rank it is"));
  return why.empty() ? all : "refused";
}

std::string named_process(const std::string& process, const std::string& name) {
  return R"({"ph": "M", "name": "process_name", "pid": )" + process + R"(, "args": {"name": ")" + name + R"("}})";
}

}  // namespace

TEST_CASE("processes that are numbered from 0 on, without a hole, are ranks, and one process alone is not") {
  CHECK(ranks_of({event_of("0"), event_of("1")}) == "0/2 1/2");
  CHECK(ranks_of({event_of("2"), event_of("0"), event_of("1"), event_of("1")}) == "0/3 1/3 2/3");
  CHECK(ranks_of({event_of("1"), event_of("2")}) == "refused");
  CHECK(ranks_of({event_of("0"), event_of("2")}) == "refused");
  CHECK(ranks_of({event_of("0")}) == "refused");
  CHECK(ranks_of({event_of("1"), event_of("2"), event_of("3"), event_of("4")}) == "refused");
}

TEST_CASE(
    "a process is the rank in its name, an event the rank in its arguments, and the number is what follows the word") {
  struct Named {
    const char* name;
    const char* ranks;
  };
  for (const Named& one :
       {Named{"rank 3", "3/4"}, Named{"RANK 3 - CPU", "3/4"}, Named{"[Rank 03]", "3/4"}, Named{"rank_12", "12/13"},
        Named{"rank:#7", "7/8"}, Named{"rank-0", "0/1"}, Named{"rank", "refused"}, Named{"ranks 3", "refused"},
        Named{"python", "refused"}, Named{"rank 99999999", "refused"}}) {
    CAPTURE(one.name);
    CHECK(ranks_of({named_process("70", one.name), event_of("70")}) == one.ranks);
    CHECK(ranks_of({event_of("\"" + std::string(one.name) + "\"")}) == one.ranks);
  }
  CHECK(ranks_of({event_of("70", R"({"rank": 2})"), event_of("70", R"({"rank": 0})")}) == "0/3 2/3");
  CHECK(ranks_of({event_of("0", R"({"rank": -1})"), event_of("1")}) == "0/2 1/2");  // no rank: that of its process
  CHECK(ranks_of({named_process("0", "rank 5"), event_of("0"), event_of("1")}) == "refused");
}

TEST_CASE("times are microseconds after the base, in whole nanoseconds") {
  const RankTrace trace = read_kineto(joined_events({event_of("0", R"({"rank": 0})")}) + "}", "t.json").at(0);
  REQUIRE(trace.ranges.size() == 1);
  CHECK(trace.ranges[0].start_ns == 1000 + 1500);
  CHECK(trace.ranges[0].end_ns == 1000 + 1500 + 2000);
  const auto bad = [](const std::string& times) {
    return error_message([&] { read_kineto(joined_events({event_of("0", R"({"rank": 0})", times)}) + "}", "t.json"); });
  };
  CHECK(bad(R"("ts": 0, "dur": 0)").empty());
  CHECK_FALSE(bad(R"("ts": 0, "dur": -1)").empty());
}

TEST_CASE("a rank counts in the group of its pipeline where the trace names one that it is of") {
  const auto rank = [](const std::string& groups) {
    const std::string job =
        R"(, "distributedInfo": {"rank": 3, "world_size": 8, "backend": "nccl", "pg_config": )" + groups + "}}";
    const RankTrace trace = read_kineto(joined_events({event_of("0")}) + job, "r.json").at(0);
    CHECK(trace.backend == "nccl");
    return std::to_string(trace.rank) + "/" + std::to_string(trace.world_size) + " [" + trace.group + "] " +
           trace.runtime;
  };
  CHECK(rank("[]") == "3/8 [] ");
  CHECK(rank(R"([{"pg_desc": "mesh_pp", "ranks": [1, 3, 5]}])") == "1/3 [1, 3, 5] ");
  CHECK(rank(R"([{"pg_desc": "mesh_pp", "ranks": [3, 7]}])") == "0/2 [3, 7] ");
  CHECK(rank(R"([{"pg_desc": "mesh_pp", "ranks": [3]}])") == "3/8 [] ");
  CHECK(rank(R"([{"pg_desc": "mesh_pp", "ranks": [0, 4]}])") == "3/8 [] ");
  CHECK(rank(R"([{"pg_desc": "mesh_dp", "ranks": [1, 3]}, {"pg_desc": "mesh_pp", "ranks": [2, 3]}])") == "1/2 [2, 3] ");
  CHECK(rank(R"([{"pg_desc": "PIPELINE_MODEL_PARALLEL_GROUP", "ranks": [1, 3]}])") == "1/2 [1, 3] megatron");
  for (const char* job :
       {R"({"rank": 8, "world_size": 8})", R"({"rank": -1, "world_size": 8})", R"({"rank": 0, "world_size": 0})"}) {
    CHECK_FALSE(error_message([&] {
                  read_kineto(joined_events({event_of("0")}) + R"(, "distributedInfo": )" + job + "}", "r.json");
                }).empty());
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
