#include "tools/plans/shared_trials.hpp"

#include <doctest/doctest.h>

#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "sim/plan_search/plan_search.hpp"
#include "tests/support/small_transformer_job.hpp"

TEST_SUITE_BEGIN("plans");

using namespace plumb;

namespace {

/// Threads that give each other texts as processes of a job do.
class TalkingThreads {
 public:
  explicit TalkingThreads(std::size_t count) : texts_(count), met_(static_cast<std::ptrdiff_t>(count)) {}

  ProcessShare share(std::size_t rank) {
    ProcessShare share{.rank = rank, .size = texts_.size()};
    share.exchange = [this, rank](const std::string& own) {
      texts_[rank] = own;
      met_.arrive_and_wait();
      std::vector<std::string> all = texts_;
      met_.arrive_and_wait();
      return all;
    };
    return share;
  }

 private:
  std::vector<std::string> texts_;
  std::barrier<> met_;
};

std::string told(const PlanAnswer& answer) {
  std::string text = std::to_string(answer.bound_ns) + " " + std::to_string(answer.simulated) + "\n";
  for (const auto* plans : {&answer.best, &answer.front}) {
    for (const ScoredPlan& score : *plans) {
      text += score.plan.schedule + " " + std::to_string(score.plan.places) + " " + std::to_string(score.step_ns) +
              " " + std::to_string(score.peak_bytes) + " " + std::to_string(score.bubble_fraction);
      for (const std::size_t bound : score.plan.partition.bounds) text += " " + std::to_string(bound);
      text += ", " + counts_text(score.plan.choices.recomputed) + ", " + counts_text(score.plan.choices.offloaded);
      text += "\n";
    }
  }
  return text;
}

}  // namespace

TEST_CASE("processes that share the simulations of a search all find what one finds, and each does a part of them") {
  const plumb::testing::SmallTransformerJob made(60);
  Parallelism left = made.parallelism;  // some choices to stages, which processes have to tell each other, too
  left.recompute = ActivationRecompute::kFitted;
  left.offload_by_stage = true;
  const PlanRanges ranges{.parallelisms = {made.parallelism, left}, .places = {2, 4}, .chunks = {2}};
  const auto searched = [&](const ProcessShare& share, int& own) {
    PlanEffort effort{.most_simulations = 200, .most_exact = 10};
    effort.stop = effort.stop_seeds = [] { return false; };
    SharedTrials shared(share, effort);
    const std::vector<PipelinePlan> seeds = shared.plans(ranges, [&](const auto&) {
      ++own;
      return std::vector{PipelinePlan{.parallelism = made.parallelism,
                                      .places = 2,
                                      .microbatches = 8,
                                      .schedule = "1f1b",
                                      .partition = Partition{{0, 4, made.job.num_layers}},
                                      .order = {0, 1}}};
    });
    return told(search_plan(made.job, ranges, effort, seeds));
  };
  int alone_asked = 0;
  const std::string alone = searched({}, alone_asked);
  CHECK(alone_asked == 1);
  for (const std::size_t count : {2, 3}) {
    TalkingThreads threads(count);
    std::vector<std::string> found(count);
    std::vector<int> asked(count);
    std::vector<std::thread> running;
    for (std::size_t rank = 0; rank < count; ++rank) {
      running.emplace_back([&, rank] { found[rank] = searched(threads.share(rank), asked[rank]); });
    }
    for (std::thread& thread : running) thread.join();
    for (std::size_t rank = 0; rank < count; ++rank) {
      CHECK(found[rank] == alone);
      CHECK(asked[rank] == (rank == 0 ? 1 : 0));
    }
  }
}

TEST_CASE("when the time of one process is over, all of them stop at the same plan") {
  const plumb::testing::SmallTransformerJob made(60);
  const PlanRanges ranges{.parallelisms = {made.parallelism}, .places = {2, 4}, .chunks = {2}};
  TalkingThreads threads(2);
  std::vector<std::string> found(2);
  std::vector<std::thread> running;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    running.emplace_back([&, rank] {
      PlanEffort effort{.most_simulations = 5000, .most_exact = 10};
      int asked = 0;
      effort.stop = effort.stop_seeds = [&asked, rank] { return rank == 1 && ++asked > 3; };
      const ProcessShare share = threads.share(rank);
      const SharedTrials shared(share, effort);
      found[rank] = told(search_plan(made.job, ranges, effort));
    });
  }
  for (std::thread& thread : running) thread.join();
  CHECK(found[0] == found[1]);
}

TEST_SUITE_END();
