#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "models/stages/partition.hpp"
#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

inline constexpr Ticks kNoStep = std::numeric_limits<Ticks>::max();
inline constexpr std::size_t kEveryVariant = std::numeric_limits<std::size_t>::max();

/// A part of the space that may hold the best plan: a setup, one cut of it on places in an order, or that cut with a
/// schedule.
struct PlanCandidate {
  enum class Level : std::uint8_t { kPlan, kCut, kSetup };  // what is nearly decided comes first

  Ticks bound = 0;
  Ticks estimate = 0;  ///< the order in which candidates are opened
  Level level = Level::kSetup;
  bool slow = false;  ///< its schedule is searched itself
  std::int64_t number = 0;
  std::size_t setup = 0;
  std::size_t variant = kEveryVariant;
  std::vector<std::int32_t> order{};
  Partition partition{};
  std::vector<std::int64_t>
      shares{};  ///< microbatches of each copy of the pipeline; empty: there is one copy, or they are still open
  std::shared_ptr<const PricedStages> stages{};
  double ratio = 1;                         ///< step over estimate of the plan that this one is near
  bool exact = false;                       ///< all cuts and orders of the setup are there
  bool few_shares = false;                  ///< and of each all shares of copies are tried
  std::int32_t cut_again = 0;               ///< how often, because the plan before did not fit
  std::vector<std::int64_t> spare_bytes{};  ///< by place: left free when it was cut again; empty: nothing
  bool refined = false;                     ///< whether the bound of a setup is all that can be proved of it

  auto key() const { return std::tuple(estimate, level, number); }
  friend bool operator<(const PlanCandidate& a, const PlanCandidate& b) { return a.key() < b.key(); }
};

/// So often is a plan that does not fit cut again with less memory; not at all where cuts are tried anyway.
inline constexpr std::int32_t kMostCutAgain = 16;

/// What opening a candidate gave.
struct Opened {
  std::vector<PlanCandidate> candidates{};
  std::optional<ScoredPlan> score{};
  std::shared_ptr<const PricedStages> stages{};
  Ticks left_out = kNoStep;  ///< least bound of what was not opened
  std::string refused{};     ///< why nothing came of it
  bool simulated = false;
  bool skipped = false;  ///< the search ended before its turn came
};

}  // namespace plumb
