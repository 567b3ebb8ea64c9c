#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/sources/profile.hpp"
#include "sim/comparison/compare.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/terminal/progress.hpp"

namespace plumb {

/// What the demo does: profile and train alternately, predict, compare.
struct DemoPlan {
  std::vector<std::string> schedules{"gpipe", "1f1b", "zb-h1", "pipemare"};
  std::string network = "gpt-mini";
  std::int32_t devices = 2;
  std::int64_t microbatches = 8;  ///< per update
  std::int64_t updates = 12;      ///< of every run
  std::int64_t rounds = 5;        ///< runs of every schedule; rounds take turns, so that slow moments hit all alike
};

/// One schedule of the demo.
struct DemoResult {
  std::string schedule;
  Timeline predicted;
  std::vector<Timeline> measured;  ///< of the rounds that count
  std::size_t median = 0;          ///< the run with the (lower) middle step time
  Comparison comparison;
  double first_loss = 0;  ///< of the last run: mean of the first update's microbatches
  double last_loss = 0;
};

/// What the demo found: the profile that it predicted from, and its schedules in the order of the plan.
struct DemoRun {
  Profile profile;
  std::vector<DemoResult> results;
  std::vector<double> lost;         ///< by round: share of the time that other programs took (`Disturbance::lost`)
  std::vector<std::size_t> rounds;  ///< those that count
};

/// Alternates rounds of profiling and of training with every schedule, leaves out those that were disturbed, then
/// predicts from the profile of the others and compares. The rounds alternate because the speed of the machine drifts:
/// so profile and training see the same drift.
DemoRun demo_run(const DemoPlan& plan, Progress& progress);

/// The table that ends the demo, and what it means.
std::string demo_text(const DemoPlan& plan, const DemoRun& run);

/// One page with every schedule, its prediction compared with its measurement.
std::string demo_page(const DemoPlan& plan, const DemoRun& run);

}  // namespace plumb
