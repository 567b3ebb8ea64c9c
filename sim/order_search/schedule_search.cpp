#include "sim/order_search/schedule_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/v_placement.hpp"
#include "sim/order_search/catalogue_candidates.hpp"
#include "sim/order_search/exact_order.hpp"
#include "sim/order_search/open_orders.hpp"
#include "sim/order_search/repetend_schedule.hpp"
#include "sim/order_search/schedule_blocks.hpp"
#include "sim/simulate.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostPassesOfTree = 800;     ///< of branch and bound
constexpr std::int64_t kMostPassesOfSteps = 8'000;  ///< of the local search
constexpr std::int64_t kMostCopies = 224;           ///< blocks times microbatches of a repetend
constexpr std::int64_t kPlainCopies = 32;           ///< so many get all nodes; more get fewer, as each takes longer
constexpr std::int64_t kFewestNodes = 500;
constexpr std::int64_t kTreesOfOrders = 10;  ///< branch and bound gets so many times the nodes of a repetend
constexpr std::size_t kStepStarts = 3;
constexpr int kMostFruitless = 1;  ///< larger repetends in a row whose trees did not end and that are no better
constexpr Ticks kNoMakespan = std::numeric_limits<Ticks>::max();

bool has_halves(const Schedule& schedule) {
  return std::ranges::any_of(schedule.devices, [](const DeviceList& list) {
    return std::ranges::any_of(list.actions, [](const Action& action) { return action.op == Op::kW; });
  });
}

/// Whether several devices hold a stage and take its microbatches in turn.
bool has_shared_stages(const Schedule& schedule) {
  return std::ranges::any_of(schedule.placement, [](const auto& replica) {
    return std::ranges::any_of(replica, [](const auto& holders) { return holders.size() > 1; });
  });
}

bool has_whole_backwards(const Schedule& schedule) {
  return std::ranges::any_of(schedule.devices, [](const DeviceList& list) {
    return std::ranges::any_of(list.actions, [](const Action& action) { return action.op == Op::kB; });
  });
}

std::int64_t passes_of(const Schedule& schedule) {
  std::int64_t passes = 0;
  for (const DeviceList& list : schedule.devices) passes += expanded_size(list);
  return passes;
}

/// One search.
class ScheduleSearcher {
 public:
  explicit ScheduleSearcher(const ScheduleSearch& search) : search_(search) {}

  ScheduleSearchAnswer run() {
    if (search_.start) {
      search_from(*search_.start);
    } else {
      search_all();
    }
    take_steps();
    sort();
    for (SearchedOrder& order : answer_.orders) order.bound = bound_of(order);
    return std::move(answer_);
  }

 private:
  void search_all() {
    for (const bool in_v : {false, true}) {
      for (const bool split : {false, true}) {
        if (!(in_v ? search_.in_v : search_.straight) || !(split ? search_.split : search_.whole)) continue;
        search_family(in_v, split);
      }
    }
    try_catalogue();
  }

  void search_from(const SearchStart& start) {
    if (has_open_orders(start.schedule)) return fill(start);
    offer(OrderOrigin::kGiven, start.name, start.schedule);
    if (has_shared_stages(start.schedule) && why_no_blocks(start.schedule).empty()) {
      SearchStart open{.name = start.name, .schedule = start.schedule};
      for (DeviceList& list : open.schedule.devices) list = {};
      fill(open);
    }
    if (!start.rules) return;
    VariedCounts varied = vary_counts(*start.rules, search_.run(start.schedule), search_.simulations, search_.seed);
    answer_.simulations += varied.simulations;
    if (!varied.changes.empty()) offer(OrderOrigin::kCounts, "counts: " + varied.changes, std::move(varied.schedule));
  }

  /// Fills in what is open, with whole backwards, with halves, or as what is given has it.
  void fill(const SearchStart& start) {
    const std::string reason = why_no_blocks(start.schedule);
    if (!reason.empty()) throw Error(start.name + ": orders are open, and " + reason);
    for (const bool split : {false, true}) {
      const Op other = split ? Op::kB : Op::kW;
      const bool is_given = std::ranges::any_of(start.schedule.devices, [&](const DeviceList& list) {
        return std::ranges::any_of(
            list.actions, [&](const Action& action) { return action.op == other || (!split && action.op == Op::kI); });
      });
      if (is_given || !(split ? search_.split : search_.whole)) continue;
      fill_family(start, split);
    }
  }

  void fill_family(const SearchStart& start, bool split) {
    SearchedFamily family;
    family.name = start.name + (split ? ", split backwards" : ", whole backwards");
    const BlockProblem problem = with_given_orders(blocks_of(start.schedule, split), start.schedule);
    check_blocks(problem, family.name);
    family.bound = least_makespan(problem, microbatches_of(problem));
    family.rate = least_rate(problem);
    const BlockOrders filled = completed_orders(problem, microbatches_of(problem));
    if (filled.empty()) {
      family.refused = "nothing was found that keeps what is given and fits";
    } else {
      offer(OrderOrigin::kFilled, "filled in, " + family.name, with_orders(start.schedule, problem, filled));
      prove(start.schedule, problem, filled, family);
      bounds_of_fills_[split ? 1 : 0] = family.bound;
    }
    answer_.families.push_back(std::move(family));
  }

  /// Actions of the start whose orders are partly open.
  std::function<bool(const Action&)> given() const {
    if (!search_.start || !has_open_orders(search_.start->schedule)) return {};
    std::set<std::tuple<StageId, Op, MicrobatchId>> given;
    for (const DeviceList& list : search_.start->schedule.devices) {
      for (const Action& action : list.actions) given.emplace(action.stage, action.op, action.microbatch);
    }
    return [given](const Action& action) { return given.contains({action.stage, action.op, action.microbatch}); };
  }

  Schedule frame_of(bool in_v) const {
    Schedule frame = looped_schedule("searched", search_.params, in_v ? 2 : 1, 1);
    if (in_v) place_in_v(frame);
    return frame;
  }

  /// As the problem counts them.
  std::int64_t microbatches_of(const BlockProblem& problem) const {
    return search_.params.num_microbatches / problem.together;
  }

  BlockProblem blocks_of(const Schedule& schedule, bool split) const {
    const OrderRun run = search_.run(schedule);
    return schedule_blocks(
        schedule,
        {.stages = run.costs, .cluster = run.cluster, .memory_limit = search_.memory_limit(schedule), .split = split});
  }

  /// Simulates an order and keeps it where it fits.
  void offer(OrderOrigin origin, const std::string& name, Schedule schedule) {
    OrderRun run = search_.run(schedule);
    run.options.spans = run.options.memory_curve = false;
    const Timeline timeline = simulate_summary(schedule, run.costs, run.cluster, run.lowering, run.options);
    if (run.fits && !run.fits(timeline)) return;
    answer_.orders.push_back(
        {.origin = origin, .name = name, .schedule = std::move(schedule), .timeline = timeline, .bound = 0});
  }

  void search_family(bool in_v, bool split) {
    SearchedFamily family;
    family.name = std::string(in_v ? "two stages per device in a V" : "one stage per device") +
                  (split ? ", split backwards" : ", whole backwards");
    try {
      const Schedule frame = frame_of(in_v);
      const BlockProblem problem = blocks_of(frame, split);
      check_blocks(problem, family.name);
      family.bound = least_makespan(problem, search_.params.num_microbatches);
      family.rate = least_rate(problem);
      const BlockOrders best = search_repetends(frame, problem, family);
      prove(frame, problem, best, family);
      bounds_[{in_v, split}] = family.bound;
    } catch (const Error& error) {
      family.refused = error.what();
    }
    answer_.families.push_back(std::move(family));
  }

  /// Repetends with 1, 2, ... microbatches; the best order among them.
  BlockOrders search_repetends(const Schedule& frame, const BlockProblem& problem, SearchedFamily& family) {
    const std::int64_t m = search_.params.num_microbatches;
    const std::int64_t most = std::min(search_.most_repeated, std::min(m, kMostCopies / problem.size()));
    BlockOrders best;
    Ticks shortest = kNoMakespan;
    double best_each = std::numeric_limits<double>::max();
    int fruitless = 0;
    for (std::int32_t u = 1; u <= most; ++u) {
      const std::int64_t copies = std::max<std::int64_t>(kPlainCopies, std::int64_t{u} * problem.size());
      const std::int64_t nodes = std::max(kFewestNodes, search_.nodes * kPlainCopies / copies * kPlainCopies / copies);
      const FoundRepetend found = search_repetend(problem, u, nodes);
      answer_.nodes += found.nodes;
      family.periods.push_back({.microbatches = u, .period = found.repetend.period, .bound = found.bound});
      offer(OrderOrigin::kRepetend, std::to_string(u) + " per period, " + family.name,
            repetend_schedule(frame, problem, found.repetend));
      if (m * problem.size() <= kMostPassesOfTree) {
        BlockOrders orders = repeated(problem, found.repetend, m);
        const Ticks makespan = makespan_of(problem, orders, m);
        if (makespan >= 0 && makespan < shortest) best = std::move(orders);
        if (makespan >= 0) shortest = std::min(shortest, makespan);
      }
      const double each = static_cast<double>(found.repetend.period) / u;
      fruitless = each < best_each || found.proved() ? 0 : fruitless + 1;
      best_each = std::min(best_each, each);
      if (fruitless == kMostFruitless) break;
      // No number of microbatches has a better rate.
      if (found.repetend.period * family.rate.microbatches <= family.rate.ticks * u) break;
    }
    return best;
  }

  void prove(const Schedule& frame, const BlockProblem& problem, const BlockOrders& best, SearchedFamily& family) {
    const std::int64_t m = microbatches_of(problem);
    if (m * problem.size() > kMostPassesOfTree || best.empty()) return;
    const Ticks known = makespan_of(problem, best, m);
    const ProvedMakespan proved = prove_makespan(problem, m, {.orders = {}, .found = known, .bound = family.bound},
                                                 kTreesOfOrders * search_.nodes);
    answer_.nodes += proved.nodes;
    family.bound = proved.bound;
    family.tree_ended = proved.proved();
    if (!proved.orders.empty()) {
      offer(OrderOrigin::kExact, "branch and bound, " + family.name, with_orders(frame, problem, proved.orders));
    }
  }

  /// How many microbatches every device may keep of a straight pipeline's stages; 0: any number.
  std::int64_t most_kept() const {
    const BlockProblem problem = blocks_of(frame_of(false), false);
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (const WorkBlock& block : problem.blocks) {
      const std::int64_t limit = problem.limits[static_cast<std::size_t>(block.devices.front())];
      if (block.stash > 0) most = std::min(most, limit / block.stash);
    }
    return most > 0 && most < search_.params.num_microbatches ? most : 0;
  }

  /// Whether the search is about schedules of this placement and these passes.
  bool is_asked_for(const Schedule& schedule) const {
    if (!(has_halves(schedule) ? search_.split : search_.whole)) return false;
    if (search_.straight && search_.in_v) return true;
    return frame_of(search_.in_v).placement == schedule.placement;
  }

  void try_catalogue() {
    for (CatalogueCandidate& candidate : catalogue_candidates(search_.params, most_kept())) {
      if (!is_asked_for(candidate.schedule)) continue;
      ++answer_.catalogue_tried;
      const std::size_t before = answer_.orders.size();
      try {
        offer(OrderOrigin::kCatalogue, candidate.name, std::move(candidate.schedule));
      } catch (const Error&) {  // no costs for so many stages, or it hangs as this runtime sends
      }
      answer_.catalogue_fits += static_cast<std::int64_t>(answer_.orders.size() - before);
    }
  }

  void take_steps() {
    sort();
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < answer_.orders.size() && starts.size() < kStepStarts; ++i) {
      const SearchedOrder& order = answer_.orders[i];
      if (!why_no_steps(order.schedule).empty() || passes_of(order.schedule) > kMostPassesOfSteps) continue;
      starts.push_back(i);
    }
    for (const std::size_t i : starts) {
      const SearchedOrder start = answer_.orders[i];
      const std::int64_t share = search_.simulations / static_cast<std::int64_t>(starts.size());
      if (share < 2) return;
      OrderRun run = search_.run(start.schedule);
      run.is_given = given();
      ImprovedOrder improved = improve_order(start.schedule, run, share, search_.seed);
      answer_.simulations += improved.simulations;
      if (improved.makespan >= start.timeline.makespan) continue;
      offer(OrderOrigin::kSteps, "steps from: " + start.name, std::move(improved.schedule));
    }
  }

  void sort() {
    std::ranges::stable_sort(answer_.orders, {}, [](const SearchedOrder& order) {
      return std::pair(order.timeline.makespan, order.origin);
    });
  }

  /// Of all orders and pairs of the same passes; 0: not known, where backwards are whole and in halves, or devices
  /// are not all of speed 1.
  Ticks bound_of_pairs(const Schedule& schedule) const {
    const bool split = has_halves(schedule);
    if (split && has_whole_backwards(schedule)) return 0;
    const OrderRun run = search_.run(schedule);
    const bool unlike =
        run.cluster != nullptr &&
        std::ranges::any_of(run.cluster->devices, [](const DeviceSpec& device) { return device.speed != 1.0; });
    if (unlike) return 0;
    BlockProblem problem = blocks_of(schedule, split);
    const PairedWork work = shorten_by_pairs(problem, run.costs);
    return least_makespan_with_pairs(problem, work, microbatches_of(problem));
  }

  Ticks bound_of(const SearchedOrder& order) const {
    const Schedule& schedule = order.schedule;
    if (!why_no_blocks(schedule).empty()) return 0;
    if (has_overlapped_pairs(schedule)) return bound_of_pairs(schedule);
    const bool split = has_halves(schedule);
    if (search_.start) {
      const Ticks known = bounds_of_fills_[split ? 1 : 0];
      return known > 0 ? known : bound_of_blocks(blocks_of(schedule, split));
    }
    for (const bool in_v : {false, true}) {
      const auto known = bounds_.find({in_v, split});
      if (known != bounds_.end() && frame_of(in_v).placement == schedule.placement) return known->second;
    }
    return bound_of_blocks(blocks_of(schedule, split));
  }

  Ticks bound_of_blocks(const BlockProblem& problem) const { return least_makespan(problem, microbatches_of(problem)); }

  const ScheduleSearch& search_;
  ScheduleSearchAnswer answer_;
  std::map<std::pair<bool, bool>, Ticks> bounds_;  ///< of families: in a V, split
  std::array<Ticks, 2> bounds_of_fills_{};         ///< of a start with open orders: whole, split; 0: not known
};

}  // namespace

const SearchedOrder* ScheduleSearchAnswer::best_of_catalogue() const {
  const auto found = std::ranges::find(orders, OrderOrigin::kCatalogue, &SearchedOrder::origin);
  return found == orders.end() ? nullptr : &*found;
}

ScheduleSearchAnswer search_schedules(const ScheduleSearch& search) { return ScheduleSearcher(search).run(); }

}  // namespace plumb
