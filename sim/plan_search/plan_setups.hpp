#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/plan_search/bounds/holder_bounds.hpp"
#include "sim/plan_search/bounds/pass_counts.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/device_orders.hpp"
#include "sim/plan_search/plan_estimates.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"
#include "sim/plan_search/schedule_variants.hpp"

namespace plumb {

/// Degrees, microbatch size and length of a pipeline: enough for a bound before anything is cut.
struct PlanSetup {
  const Parallelism* parallelism = nullptr;  ///< degrees among the ranges that are searched
  std::int32_t places = 1;
  std::int32_t copies = 1;        ///< copies of the pipeline, each on as many places
  std::int64_t microbatches = 1;  ///< per update and data rank, of all copies together
  std::int32_t group = 0;  ///< group of schedules (`ScheduleVariant::group`); other groups have setups of their own
  Ticks bound = 0;
  Ticks estimate = 0;  ///< with the schedule that seems best for it; proves nothing
  std::shared_ptr<const LayerPrices> prices{};
  const PlanJob* job = nullptr;  ///< job that it belongs to
  ScheduleKinds kinds{};         ///< kinds of its group
  bool asynchronous = false;

  /// Returns the microbatches that some copy has at least.
  std::int64_t turns() const { return (microbatches + copies - 1) / copies; }
  /// Returns whether a search tries the variant here: `ScheduleVariant::is_tried`, and a system runs it
  /// (`PlanJob::runs`). With unlike tensor degrees only where every stage has one place that the name tells.
  bool tries(const ScheduleVariant& variant) const;
  /// Returns where stages of `variant` stand on places in `order`, for the price of unlike tensor degrees; else
  /// nothing.
  StageChoices choices_for(const ScheduleVariant& variant, const std::vector<std::int32_t>& order) const;
};

/// Returns what a setup of `bound` is bounded by when all is counted: by all schedules of its group together, and of
/// those that have overlapped pairs by each, as its `passes` say. A bound that reaches `enough` may be told as that.
Ticks refined_bound(const PlanSetup& setup, const std::vector<ScheduleVariant>& variants, KnownPassCounts& passes,
                    Ticks enough);

/// Positions of a pipeline, or of its copies, with what each of these takes; no shares: one copy, or any shares.
struct PlacesAndShares {
  std::span<const std::int32_t> order{};
  std::span<const std::int64_t> shares{};
};

/// No plan of `setup` with `variant` whose stages cost `stages` takes less on these places; 0: nothing is proved.
Ticks placed_bound(const PlanSetup& setup, const ScheduleVariant& variant, const PlacesAndShares& at,
                   const PricedStages& stages);

/// Which sizes schedules can have: places and microbatches. Many setups have the same. May be asked by several threads.
class KnownSizes {
 public:
  /// Throws `Error` when none of the variants that are tried can have the size of the setup.
  void check(const PlanSetup& setup, const std::vector<ScheduleVariant>& variants);

 private:
  using Key = std::tuple<const ScheduleSpec*, std::int32_t, std::int32_t, std::int64_t>;

  std::optional<std::string> why_not(const ScheduleVariant& variant, std::int32_t places, std::int64_t microbatches);

  std::mutex mutex_;
  std::map<Key, std::optional<std::string>> known_;  ///< why it cannot; nothing: it can
};

struct PlanSetups {
  std::vector<PlanSetup> setups{};            ///< setups that may fit
  std::vector<UndividedSetup> undivided{};    ///< setups without data ranks
  std::string refused{};                      ///< why the first impossible one was
  std::int64_t combinations = 0;              ///< combinations of degrees, microbatch size and length of the pipeline
  std::int64_t without_memory = 0;            ///< combinations among these that are proved not to fit
  std::optional<ScoredPlan> least_missing{};  ///< combination among these that misses least
  std::int64_t unpriced = 0;                  ///< choices of degrees that there was no time for
};

/// Returns all setups of `ranges` that the cluster has devices for, whose batch divides, and that can be priced. One of
/// each group of schedules that tries it. `effort` says when pricing stops; processes that search together are asked
/// for the time between two blocks of choices. `job` and `ranges` must outlive them.
PlanSetups plan_setups(const PlanJob& job, const PlanRanges& ranges, const std::vector<ScheduleVariant>& variants,
                       ScheduleShapes& shapes, const PlanEffort& effort);

struct WaitingSetup {
  Ticks estimate = 0;       ///< no less than its bound
  std::int64_t number = 0;  ///< from 1, in the order of the setups
  std::size_t setup = 0;
  Ticks least_bound = 0;  ///< least bound of this one and all after it
};

/// Setups in the order in which a search opens them: by estimate, then by number. There are hundreds of
/// thousands, and most of them are never opened; so they are no parts of its queue before their turn comes.
class WaitingSetups {
 public:
  explicit WaitingSetups(const std::vector<PlanSetup>& setups);

  bool empty() const { return waiting_.empty(); }
  std::int64_t size() const { return std::ssize(waiting_); }
  /// Requires that there is one.
  const WaitingSetup& first() const { return waiting_.back(); }
  void pop() { waiting_.pop_back(); }
  /// Returns the largest number of ticks where there is none.
  Ticks least_bound() const {
    return waiting_.empty() ? std::numeric_limits<Ticks>::max() : waiting_.back().least_bound;
  }

 private:
  std::vector<WaitingSetup> waiting_;  ///< the first one last
};

}  // namespace plumb
