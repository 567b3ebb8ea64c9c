#include <doctest/doctest.h>

#include "sim/shared_devices/job_schedule.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

struct SaturnCase {
  std::int64_t nodes = 1;
  std::int64_t per_node = 8;
  std::vector<std::vector<JobChoice>> jobs;
  std::int64_t makespan = 0;
};

}  // namespace

// The makespans are the objectives of the integer programme that Saturn's released program (knagrecha/saturn b65e3d2,
// saturn/solver/milp.py) writes for these jobs, with 1e4 for its constant M, solved to optimality by CBC 2.10.
TEST_CASE("schedules of jobs are as short as those of Saturn's integer programme") {
  const std::vector<SaturnCase> cases{
      {1,
       8,
       {{{1, 400}, {2, 210}, {4, 120}, {8, 80}},
        {{1, 300}, {2, 160}, {4, 90}, {8, 60}},
        {{2, 500}, {4, 260}, {8, 150}},
        {{4, 220}, {8, 130}}},
       350},
      {1, 8, {{{4, 300}, {8, 170}}, {{4, 260}, {8, 150}}, {{2, 400}, {4, 230}, {8, 140}}}, 430},
      {2, 8, {{{4, 180}, {8, 100}}, {{4, 170}, {8, 90}}, {{2, 290}, {4, 150}, {8, 80}}, {{2, 260}, {8, 70}}}, 170},
      {1, 8, {{{3, 100}, {5, 64}}, {{3, 90}, {5, 60}}, {{2, 140}, {6, 52}}, {{1, 200}}}, 200},
      {1,
       8,
       {{{1, 863}, {2, 454}, {8, 126}},
        {{1, 1393}, {2, 967}, {4, 672}, {8, 466}},
        {{1, 385}, {2, 229}, {8, 81}},
        {{1, 1393}, {2, 733}, {8, 203}}},
       733},
      {1,
       8,
       {{{1, 1958}, {2, 1328}, {4, 901}, {8, 611}},
        {{1, 1596}, {2, 1067}, {4, 713}, {8, 476}},
        {{1, 328}, {2, 194}, {4, 115}, {8, 68}},
        {{1, 1153}, {2, 679}, {4, 400}, {8, 236}}},
       1067},
      {1,
       8,
       {{{1, 365}, {2, 245}, {4, 165}, {8, 110}},
        {{1, 1326}, {2, 860}},
        {{1, 509}, {2, 351}, {4, 242}},
        {{1, 573}, {2, 373}, {4, 243}, {8, 158}}},
       860},
      {2,
       8,
       {{{1, 911}, {2, 534}, {4, 313}},
        {{1, 1183}, {2, 719}, {4, 437}, {8, 266}},
        {{1, 1897}, {2, 1081}, {8, 351}},
        {{1, 1613}, {2, 963}},
        {{1, 1625}, {4, 479}, {8, 260}}},
       963},
  };
  for (const SaturnCase& one : cases) {
    JobProblem problem{.nodes = one.nodes, .per_node = one.per_node, .jobs = {}};
    for (const auto& choices : one.jobs) problem.jobs.push_back({.name = "job", .choices = choices});
    const JobAnswer answer = schedule_jobs(problem);
    CHECK(answer.best.makespan_ns == one.makespan);
    CHECK(answer.proved());
    for (const SimpleJobRule& rule : answer.simple) CHECK(rule.schedule.makespan_ns >= one.makespan);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
