#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/sources/profile.hpp"
#include "sim/comparison/compare.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/terminal/progress.hpp"
#include "trainer/ground/device_clock.hpp"

namespace plumb {

/// What other programs took from this one while it measured.
struct Disturbance {
  double steal = 0;           ///< share of the processors' time that the hypervisor gave to other machines
  std::int64_t switches = 0;  ///< how often a thread of this process was taken off its processor
  double seconds = 0;         ///< how long it was watched
  double processors = 0;      ///< of the machine; 0: not known
  double others = 0;          ///< how many of them other programs kept busy, on average

  /// Estimated share of the time that `threads` threads that compute lost: the steal, and what is more of two things: a
  /// time slice of Linux's scheduler (3 ms) for every switch, or the processors that other programs left too few of
  /// (`threads` need as many). At most 1.
  double lost(std::int64_t threads) const;
};

/// Watches this process and the machine from its making on: /proc/stat (proc(5); where there is none, no time counts
/// as stolen) and getrusage(2).
class DisturbanceWatch {
 public:
  DisturbanceWatch();

  /// What happened until now.
  Disturbance read() const;

 private:
  std::chrono::steady_clock::time_point begin_;
  std::int64_t stolen_ = 0;
  std::int64_t all_ = 0;
  std::int64_t busy_ = 0;
  std::int64_t switches_ = 0;
  double own_seconds_ = 0;
};

/// The numbers of the rounds that count, ascending: those that lost at most `most`; the calmest half (rounded up) where
/// these are fewer.
std::vector<std::size_t> calm_rounds(const std::vector<double>& lost, double most);

/// What the demo does: profile and train alternately, predict, compare.
struct DemoPlan {
  std::vector<std::string> schedules{"gpipe", "1f1b", "zb-h1", "pipemare"};
  std::string network = "gpt-mini";
  std::int32_t devices = 4;
  ClockKind clock = ClockKind::kProcessor;
  std::int64_t microbatches = 8;  ///< per update
  std::int64_t updates = 12;      ///< of every run
  std::int64_t rounds = 3;        ///< runs of every schedule; rounds take turns, so that slow moments hit all alike
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

/// Alternates rounds of profiling and of training with every schedule, leaves out those that were disturbed (by the
/// wall clock), then predicts from the profile of the others and compares. The rounds alternate because the speed of
/// the machine drifts: so profile and training see the same drift.
DemoRun demo_run(const DemoPlan& plan, Progress& progress);

/// The table that ends the demo, and what it means.
std::string demo_text(const DemoPlan& plan, const DemoRun& run);

/// One page with every schedule, its prediction compared with its measurement.
std::string demo_page(const DemoPlan& plan, const DemoRun& run);

}  // namespace plumb
