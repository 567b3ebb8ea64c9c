#include "sim/traces/readers/counted_work.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

/// What ranks that run `name` leave in their traces when these name neither stages nor microbatches: forwards and
/// backwards in order, and calls around those that have a neighbour stage.
struct CountedRuns {
  std::vector<RankRun> runs;
  std::vector<std::vector<std::string>> actions;  ///< by rank: what the schedule says that they were
};

CountedRuns counted_runs(const std::string& name, std::int32_t ranks, std::int64_t m, std::int32_t chunks,
                         std::int32_t steps) {
  CountedRuns made;
  const Schedule schedule = generate(name, {.num_devices = ranks, .num_microbatches = m, .chunks = chunks});
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    RankRun run;
    run.file = "rank" + std::to_string(rank);
    run.rank = rank;
    run.world_size = ranks;
    run.runtime = "megatron";
    std::vector<UnnamedWork> all;
    std::vector<std::string>& actions = made.actions.emplace_back();
    std::int64_t at = 0;
    for (std::int32_t step = 0; step < steps; ++step) {
      for (const Action& action : expand(schedule.devices[static_cast<std::size_t>(rank)])) {
        if (action.op != Op::kF && action.op != Op::kB) continue;
        const bool backward = action.op == Op::kB;
        const auto stage = static_cast<std::int32_t>(action.stage);
        UnnamedWork work{.backward = backward};
        work.begin_ns = at;
        work.receive_begin_ns = at;
        const bool receives = backward ? stage + 1 < schedule.num_stages : stage > 0;
        work.receive_end_ns = at + (receives && chunks == 1 ? 2 : 0);
        work.start_ns = at + 2;
        work.end_ns = at + 5;
        const bool sends = backward ? stage > 0 : stage + 1 < schedule.num_stages;
        work.send_begin_ns = at + 5;
        work.send_end_ns = at + (sends && chunks == 1 ? 6 : 5);
        all.push_back(work);
        actions.push_back(to_string(action) + " of step " + std::to_string(step));
        at += 10;
      }
    }
    add_counted(all, run);
    made.runs.push_back(run);
  }
  return made;
}

std::string in_words(const TracedAction& work) {
  return to_string(work.action) + " of step " + std::to_string(work.step);
}

}  // namespace

TEST_CASE("counted work and messages get back the stages, microbatches and steps that the schedule gave them") {
  struct Job {
    const char* name;
    std::int32_t ranks, chunks;
    std::int64_t m;
  };
  for (const Job& job : {Job{"1f1b", 2, 1, 2}, Job{"1f1b", 2, 1, 5}, Job{"1f1b", 4, 1, 4}, Job{"1f1b", 3, 1, 7},
                         Job{"interleaved", 2, 2, 4}, Job{"interleaved", 2, 3, 6}, Job{"interleaved", 4, 2, 8},
                         Job{"interleaved", 3, 2, 9}}) {
    for (const std::int32_t steps : {1, 3}) {
      CAPTURE(job.name);
      CAPTURE(job.ranks);
      CAPTURE(job.m);
      CAPTURE(steps);
      CountedRuns made = counted_runs(job.name, job.ranks, job.m, job.chunks, steps);
      number_microbatches(made.runs);
      const std::int32_t stages = job.ranks * job.chunks;
      for (std::size_t rank = 0; rank < made.runs.size(); ++rank) {
        const RankRun& run = made.runs[rank];
        CHECK(run.steps == steps);
        if (job.chunks > 1) CHECK(run.stages == stages);
        REQUIRE(run.work.size() == made.actions[rank].size());
        std::map<std::string, int> messages;
        for (std::size_t k = 0; k < run.work.size(); ++k) {
          CHECK(in_words(run.work[k]) == made.actions[rank][k]);
          Action message = run.work[k].action;
          const bool forward = message.op == Op::kF;
          const auto stage = static_cast<std::int32_t>(message.stage);
          message.op = forward ? Op::kSendF : Op::kSendB;
          if (forward ? stage + 1 < stages : stage > 0)
            ++messages[to_string(message) + std::to_string(run.work[k].step)];
          message.op = forward ? Op::kRecvF : Op::kRecvB;
          if (forward ? stage > 0 : stage + 1 < stages)
            ++messages[to_string(message) + std::to_string(run.work[k].step)];
        }
        for (const TracedAction& message : run.messages)
          --messages[to_string(message.action) + std::to_string(message.step)];
        for (const auto& [text, count] : messages) {
          CAPTURE(text);
          // Ranks of several stages have no calls here.
          if (job.chunks == 1) CHECK(count == 0);
        }
      }
    }
  }
}

TEST_CASE("counted work that cannot be divided into steps, or tells several numbers of stages, is refused") {
  const auto refusal = [](std::vector<RankRun> runs) { return error_message([&] { number_microbatches(runs); }); };
  const CountedRuns good = counted_runs("1f1b", 2, 4, 1, 2);
  CHECK(refusal(good.runs).empty());
  CHECK(refusal({good.runs[1]}) ==
        "rank1: is of the last rank, which does not tell where its steps end; expected another rank's, too");
  std::vector<RankRun> runs = good.runs;
  runs[1].work.resize(runs[1].work.size() - 2);  // the last forward and backward
  CHECK(refusal(runs) == "rank1: has 7 forwards, expected whole steps of 4 microbatches, as rank0 has");
  runs = counted_runs("1f1b", 2, 8, 1, 1).runs;
  runs[1] = counted_runs("interleaved", 2, 4, 2, 1).runs[1];
  CHECK(refusal(runs) ==
        "rank1: holds 2 stages by its forwards before the first backward, rank0 1; expected the ranks of one run");
  std::vector<UnnamedWork> odd(1);
  RankRun run;
  run.file = "odd";
  CHECK(error_message([&] {
          add_counted(odd, run);
        }).starts_with("odd: has 1 forwards and 0 backwards between its calls"));
}

TEST_CASE("forwards before the first backward that no number of stages explains are refused") {
  // Two ranks that run 7 and 5 forwards first, as with three stages each; but three do not divide 8 forwards of a step.
  std::vector<RankRun> runs;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    RankRun run;
    run.file = "rank" + std::to_string(rank);
    run.rank = rank;
    run.world_size = 2;
    run.runtime = "megatron";
    std::vector<UnnamedWork> all(rank == 0 ? 7 : 5);
    while (all.size() < 16) {
      all.push_back({.backward = true});
      if (std::ranges::count(all, false, &UnnamedWork::backward) < 8) all.push_back({});
    }
    for (std::size_t k = 0; k < all.size(); ++k) all[k].begin_ns = all[k].start_ns = static_cast<std::int64_t>(k);
    for (UnnamedWork& work : all) work.end_ns = work.start_ns + 1;
    add_counted(all, run);
    runs.push_back(run);
  }
  CHECK(error_message([&] { number_microbatches(runs); }) ==
        "rank0: runs 7 forwards before its first backward; expected 2 of 1F1B, or 3 and 2 more for each further stage, "
        "of "
        "interleaved 1F1B with groups of as many microbatches as ranks");
}

}  // namespace plumb::testing

TEST_SUITE_END();
