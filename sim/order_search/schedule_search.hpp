#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedules/catalogue/schedule_params.hpp"
#include "sim/order_search/count_search.hpp"
#include "sim/order_search/makespan_bound.hpp"
#include "sim/order_search/neighbour_search.hpp"
#include "sim/order_search/repetend.hpp"

namespace plumb {

/// A schedule that is improved: with all its orders, with some of them open (`has_open_orders`), or by rules.
struct SearchStart {
  std::string name;
  Schedule schedule;
  std::optional<RulesForSizes> rules = {};
};

inline constexpr std::int32_t kMostChunks = 8;

/// What is searched, and how long. Efforts are counted, not timed: the same question has the same answer.
struct ScheduleSearch {
  ScheduleParams params;  ///< p and m; costs and limit, for schedules of the catalogue that are searched themselves
  /// How a schedule is run. Throws `Error` where it cannot be.
  std::function<OrderRun(const Schedule&)> run;
  /// What a device may keep of the stashes of this schedule: stashes of a stage, abstract units or bytes; 0: no limit.
  std::function<double(const Schedule&)> memory_limit;
  // Without one of these, only that placement or those passes are searched, in the catalogue, too.
  bool straight = true;               ///< one stage per device
  bool looped = true;                 ///< several stages per device, round the devices
  bool in_v = true;                   ///< two stages per device in a V
  bool whole = true;                  ///< backwards in one piece
  bool split = true;                  ///< backwards in halves
  std::int32_t chunks = 0;            ///< stages per device; 0: every number, in the catalogue up to `kMostChunks`
  std::int64_t most_repeated = 6;     ///< microbatches of a repetend
  std::int64_t nodes = 20'000;        ///< of the trees of each repetend; branch and bound gets ten times as many
  std::int64_t simulations = 20'000;  ///< of the local search
  std::uint64_t seed = 1;
  std::optional<SearchStart> start = {};  ///< in place of the catalogue and of everything that is searched from nothing
};

/// `kPaired`: of another order, with its neighbours in pairs, or with fewer forwards before its pairs.
enum class OrderOrigin : std::uint8_t { kCatalogue, kRepetend, kExact, kSteps, kGiven, kCounts, kFilled, kPaired };

/// An order that fits, simulated.
struct SearchedOrder {
  OrderOrigin origin = OrderOrigin::kCatalogue;
  std::string name;  ///< "1f1b limit=3"; "3 microbatches every 12 ms: straight, whole backwards"
  std::string base;  ///< of a schedule of the catalogue: its name without options, "gis v=4"; of orders made of it
  Schedule schedule;
  Timeline timeline;  ///< a summary
  Ticks bound = 0;    ///< on the makespan of every order of these passes on this placement; 0: not known

  double makespan_ns() const;
  /// Whether it takes less time. With other numbers of stages ticks may be other parts of a nanosecond.
  bool is_shorter_than(const SearchedOrder& other) const;
};

/// The smallest period with so many microbatches.
struct SearchedPeriod {
  std::int32_t microbatches = 1;
  Ticks period = 0;
  Ticks bound = 0;
};

/// Whether backwards are in halves (some of them); in one piece (some of them).
bool has_halves(const Schedule& schedule);
bool has_whole_backwards(const Schedule& schedule);

/// A placement with its passes.
struct SearchedFamily {
  std::string name;         ///< "straight, whole backwards"
  std::string refused;      ///< why it was not searched; empty: it was
  Ticks bound = 0;          ///< on the makespan
  bool tree_ended = false;  ///< branch and bound ran to its end: no order of the family is shorter than the best found
  bool with_pairs = false;  ///< pairs save time: bound and rate are those of orders with pairs, the periods of others
  Timebase base{};          ///< what its ticks are
  LeastRate rate;
  std::vector<SearchedPeriod> periods;
};

struct ScheduleSearchAnswer {
  std::vector<SearchedOrder> orders;  ///< shortest first; of as long ones those of the catalogue first
  std::vector<SearchedFamily> families;
  std::int64_t catalogue_tried = 0;  ///< schedules of the catalogue, with every value of their options
  std::int64_t catalogue_fits = 0;
  std::int64_t nodes = 0;
  std::int64_t simulations = 0;

  /// The best of the catalogue; null where none fits.
  const SearchedOrder* best_of_catalogue() const;
};

/// With a start: that one; where orders are open, all of them filled in, and branch and bound over those that keep what
/// is given; where it has rules, their counts varied; then steps. Otherwise the schedules of the catalogue, of whose
/// variants that fit the best one is kept for each number of chunks; for every family the repetends with 1, 2, ...
/// microbatches and, where it is small, branch and bound; then local search: with half of the simulations from all of
/// these, best first, with the other half from the three best. Orders that do not fit are left out.
ScheduleSearchAnswer search_schedules(const ScheduleSearch& search);

}  // namespace plumb
