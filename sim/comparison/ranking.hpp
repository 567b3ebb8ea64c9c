#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/comparison/estimate.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

struct RankingOptions {
  double margin = 0.02;               ///< predictions closer than this are not ordered
  std::optional<double> max_error{};  ///< most that the upper end of an error's interval may be
  std::optional<double> max_idle{};   ///< most that a device's idle share may differ, 0.02: two points
  std::int64_t first_step = 0;        ///< first measured step that counts; earlier ones are warm-up
};

/// One configuration, predicted and measured.
struct RankedRun {
  std::string name;  ///< "1f1b p4 m8"
  double predicted_ns = 0;
  Estimate measured_ns;     ///< median over the steps
  std::int64_t steps = 0;   ///< measured
  std::int64_t strays = 0;  ///< steps further from the median than 5 median absolute deviations
  double error = 0;         ///< (predicted - measured) / measured
  double most_error = 0;    ///< largest absolute error over the interval of the median
  double idle_error = 0;    ///< largest difference of a device's idle share
};

struct Ranking {
  std::vector<RankedRun> runs;
  std::int64_t compared = 0;  ///< pairs of configurations whose order was checked
  std::int64_t wrong = 0;
  std::vector<std::string> findings;  ///< what is wrong; empty when the order is as predicted
};

/// Compares predictions with measurements: one pair (predicted, measured) per configuration.
///
/// The measured step time is the median over the run's steps with its bootstrap interval; where the timeline has no
/// spans, its `step_time`. Two configurations of as many devices and microbatches per update whose predictions differ
/// by more than the margin must have been measured in the predicted order.
Ranking rank_runs(std::span<const std::pair<Timeline, Timeline>> runs, const RankingOptions& options = {});

/// Writes a document: {"format":"plumbline-ranking","version":1,...} (README.md).
std::string ranking_to_json(const Ranking& ranking);

}  // namespace plumb
