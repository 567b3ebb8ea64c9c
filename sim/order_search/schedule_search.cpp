#include "sim/order_search/schedule_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/v_placement.hpp"
#include "schedules/checks/validate.hpp"
#include "sim/order_search/catalogue_candidates.hpp"
#include "sim/order_search/exact_order.hpp"
#include "sim/order_search/open_orders.hpp"
#include "sim/order_search/pair_savings.hpp"
#include "sim/order_search/paired_orders.hpp"
#include "sim/order_search/repetend_schedule.hpp"
#include "sim/order_search/schedule_blocks.hpp"
#include "sim/simulate.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostPassesOfTree = 800;     ///< of branch and bound
constexpr std::int64_t kMostPassesOfSteps = 8'000;  ///< of the local search
constexpr std::int64_t kMostCopies = 224;           ///< blocks times microbatches of a repetend
constexpr std::int32_t kMostOpenBlocks = 64;        ///< of a start without orders, whose repetends are searched
constexpr std::int64_t kPlainCopies = 32;           ///< so many get all nodes; more get fewer, as each takes longer
constexpr std::int64_t kFewestNodes = 500;
constexpr std::int64_t kTreesOfOrders = 10;  ///< branch and bound gets so many times the nodes of a repetend
constexpr std::size_t kStepStarts = 3;
constexpr int kMostFruitless = 1;  ///< larger repetends in a row whose trees did not end and that are no better
constexpr std::int32_t kMostStagesOfBound = 2'000;  ///< chains between all blocks are looked at
constexpr std::int64_t kFewestSteps = 10;           ///< simulations of a start
constexpr Ticks kNoMakespan = std::numeric_limits<Ticks>::max();

/// Whether several devices hold a stage and take its microbatches in turn.
bool has_shared_stages(const Schedule& schedule) {
  return std::ranges::any_of(schedule.placement, [](const auto& replica) {
    return std::ranges::any_of(replica, [](const auto& holders) { return holders.size() > 1; });
  });
}

/// Whether its lists hold no pass.
bool is_all_open(const Schedule& schedule) {
  return std::ranges::all_of(schedule.devices, [](const DeviceList& list) {
    return std::ranges::none_of(list.actions, [](const Action& action) { return action.op <= Op::kW; });
  });
}

template <class Is>
bool some_action(const Schedule& schedule, const Is& is) {
  return std::ranges::any_of(schedule.devices,
                             [&](const DeviceList& list) { return std::ranges::any_of(list.actions, is); });
}

std::int64_t passes_of(const Schedule& schedule) {
  std::int64_t passes = 0;
  for (const DeviceList& list : schedule.devices) passes += expanded_size(list);
  return passes;
}

/// A placement that is searched from nothing.
struct SearchedShape {
  std::int32_t chunks = 1;  ///< stages per device
  bool in_v = false;        ///< down the devices and back, otherwise round them

  std::string name() const {
    if (chunks == 1) return "one stage per device";
    return std::string(chunks == 2 ? "two" : std::to_string(chunks)) + " stages per device" +
           (in_v ? " in a V" : ", looped");
  }
};

/// Of all orders with these passes on this placement.
struct PlacedBound {
  decltype(Schedule::placement) placement;
  bool split = false;
  Ticks bound = 0;
};

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
    for (SearchedOrder& order : answer_.orders) {
      order.bound = bound_of(order);
      const auto merges = [](const Action& action) { return action.merged != 0; };  // a speed rounds their sum
      if (some_action(order.schedule, merges)) order.bound = std::min(order.bound, order.timeline.makespan);
    }
    return std::move(answer_);
  }

 private:
  void search_all() {
    for (const SearchedShape& shape : shapes()) {
      for (const bool split : {false, true}) {
        if (split ? search_.split : search_.whole) search_family(shape, split);
      }
    }
    try_catalogue();
  }

  void search_from(const SearchStart& start) {
    if (has_open_orders(start.schedule)) return fill(start);
    const std::vector<Violation> wrong = check_document(start.schedule);
    if (!wrong.empty()) throw Error(start.name + ": " + to_string(wrong.front()));
    offer(OrderOrigin::kGiven, start.name, start.schedule);
    const bool shared = has_shared_stages(start.schedule) || !start.schedule.start_together.empty();
    if (shared && why_no_blocks(start.schedule).empty()) {
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
    take_bounds(start.schedule, problem, family);
    BlockOrders best = completed_orders(problem, microbatches_of(problem));
    if (!best.empty()) {
      offer(OrderOrigin::kFilled, "filled in, " + family.name, with_orders(start.schedule, problem, best));
    }
    if (is_all_open(start.schedule) && problem.size() <= kMostOpenBlocks) {
      BlockOrders repeated = search_repetends(start.schedule, problem, family);
      if (is_shorter(problem, repeated, best)) best = std::move(repeated);
    }
    if (best.empty() && family.periods.empty()) {
      family.refused = "nothing was found that keeps what is given and fits";
    } else {
      prove(start.schedule, problem, best, family);
      bounds_of_fills_[split ? 1 : 0] = family.bound;
    }
    answer_.families.push_back(std::move(family));
  }

  bool is_shorter(const BlockProblem& problem, const BlockOrders& one, const BlockOrders& other) const {
    const auto length = [&](const BlockOrders& orders) {
      const Ticks known = orders.empty() ? -1 : makespan_of(problem, orders, microbatches_of(problem));
      return known < 0 ? kNoMakespan : known;
    };
    return length(one) < length(other);
  }

  /// Whether the start has an order that is to be kept, and others open.
  bool gives_a_part() const {
    return search_.start && has_open_orders(search_.start->schedule) && !is_all_open(search_.start->schedule);
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

  /// Placements that are searched from nothing.
  std::vector<SearchedShape> shapes() const {
    std::vector<SearchedShape> shapes;
    const auto may_have = [&](std::int32_t chunks) { return search_.chunks == 0 || search_.chunks == chunks; };
    if (search_.straight && may_have(1)) shapes.push_back({.chunks = 1});
    if (search_.looped && search_.chunks != 1) shapes.push_back({.chunks = std::max(2, search_.chunks)});
    if (search_.in_v && may_have(2)) shapes.push_back({.chunks = 2, .in_v = true});
    return shapes;
  }

  Schedule frame_of(const SearchedShape& shape) const {
    Schedule frame = looped_schedule("searched", search_.params, shape.chunks, 1);
    if (shape.in_v) place_in_v(frame);
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

  OrderBounds bounds_of(const Schedule& schedule, const BlockProblem& problem) const {
    const OrderRun run = search_.run(schedule);
    return order_bounds(problem, run.costs, run.cluster, microbatches_of(problem));
  }

  void take_bounds(const Schedule& schedule, const BlockProblem& problem, SearchedFamily& family) const {
    const OrderBounds bounds = bounds_of(schedule, problem);
    family.bound = bounds.makespan;
    family.rate = bounds.rate;
    family.with_pairs = bounds.with_pairs;
    family.base = search_.run(schedule).costs.base;
  }

  /// Simulates an order and keeps it where it fits.
  void offer(OrderOrigin origin, const std::string& name, const Schedule& schedule) {
    std::optional<SearchedOrder> order = simulated(origin, name, schedule);
    if (order) answer_.orders.push_back(std::move(*order));
    if (origin != OrderOrigin::kSteps) offer_pairs(name, name, schedule);
  }

  /// Keeps orders with pairs that are made of `schedule` (named `name`, a variant of `base`) where pairs save time.
  void offer_pairs(const std::string& name, const std::string& base, const Schedule& schedule) {
    if (!why_no_steps(schedule).empty() || passes_of(schedule) > kMostPassesOfSteps || gives_a_part()) return;
    const StageCosts costs = search_.run(schedule).costs;
    if (!pairs_may_save(costs)) return;
    try_in_pairs(schedule, name, costs,
                 [&](const std::string& named, const Schedule& paired) { return offer_paired(named, base, paired); });
  }

  /// Whether it fits.
  bool offer_paired(const std::string& name, const std::string& base, const Schedule& schedule) {
    try {
      std::optional<SearchedOrder> order = simulated(OrderOrigin::kPaired, name, schedule);
      if (!order) return false;
      const bool known = std::ranges::any_of(answer_.orders, [&](const SearchedOrder& other) {
        return other.timeline.makespan == order->timeline.makespan && other.schedule.devices == schedule.devices &&
               other.schedule.placement == schedule.placement;
      });
      order->base = "pairs in " + base;
      if (!known) keep_best_variant(std::move(*order));
      return true;
    } catch (const Error&) {  // it hangs
      return false;
    }
  }

  /// None: does not fit, or is no document that the checks accept.
  std::optional<SearchedOrder> simulated(OrderOrigin origin, const std::string& name, Schedule schedule) const {
    OrderRun run = search_.run(schedule);
    run.options.spans = run.options.memory_curve = false;
    const Timeline timeline = simulate_summary(schedule, run.costs, run.cluster, run.lowering, run.options);
    if (run.fits && !run.fits(timeline)) return std::nullopt;
    if (!check_document(schedule).empty()) return std::nullopt;
    return SearchedOrder{
        .origin = origin, .name = name, .base = "", .schedule = std::move(schedule), .timeline = timeline, .bound = 0};
  }

  void search_family(const SearchedShape& shape, bool split) {
    SearchedFamily family;
    family.name = shape.name() + (split ? ", split backwards" : ", whole backwards");
    try {
      const Schedule frame = frame_of(shape);
      if (frame.num_stages > kMostStagesOfBound) {
        throw Error(std::to_string(frame.num_stages) + " stages, expected at most " +
                    std::to_string(kMostStagesOfBound));
      }
      const BlockProblem problem = blocks_of(frame, split);
      check_blocks(problem, family.name);
      take_bounds(frame, problem, family);
      const BlockOrders best = search_repetends(frame, problem, family);
      prove(frame, problem, best, family);
      bounds_.push_back({.placement = frame.placement, .split = split, .bound = family.bound});
    } catch (const Error& error) {
      family.refused = error.what();
    }
    answer_.families.push_back(std::move(family));
  }

  /// Repetends with 1, 2, ... microbatches; the best order among them.
  BlockOrders search_repetends(const Schedule& frame, const BlockProblem& problem, SearchedFamily& family) {
    const std::int64_t m = microbatches_of(problem);
    const std::int64_t most = std::min(search_.most_repeated, std::min(m, kMostCopies / problem.size()));
    BlockOrders best;
    Ticks shortest = kNoMakespan;
    double best_each = std::numeric_limits<double>::max();
    const LeastRate rate = least_rate(problem);  // of orders without pairs, which is what is searched here
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
      if (found.repetend.period * rate.microbatches <= rate.ticks * u) break;
    }
    return best;
  }

  void prove(const Schedule& frame, const BlockProblem& problem, const BlockOrders& best, SearchedFamily& family) {
    const std::int64_t m = microbatches_of(problem);
    if (m * problem.size() > kMostPassesOfTree || best.empty()) return;
    const Ticks known = makespan_of(problem, best, m);
    const Ticks bound = least_makespan(problem, m);
    const ProvedMakespan proved =
        prove_makespan(problem, m, {.orders = {}, .found = known, .bound = bound}, kTreesOfOrders * search_.nodes);
    answer_.nodes += proved.nodes;
    if (!family.with_pairs) {  // its tree makes none
      family.bound = proved.bound;
      family.tree_ended = proved.proved();
    }
    if (!proved.orders.empty()) {
      offer(OrderOrigin::kExact, "branch and bound, " + family.name, with_orders(frame, problem, proved.orders));
    }
  }

  /// Whether the search is about schedules of this placement and these passes.
  bool is_asked_for(const Schedule& schedule) const {
    if (!(has_halves(schedule) ? search_.split : search_.whole)) return false;
    const std::int32_t p = search_.params.num_devices;
    if (search_.chunks > 0 && schedule.num_stages != search_.chunks * p) return false;
    if (search_.straight && search_.looped && search_.in_v) return true;
    const std::int32_t chunks = schedule.num_stages / p;
    const auto is_placed = [&](const SearchedShape& shape) {
      return schedule.num_stages == chunks * p && frame_of(shape).placement == schedule.placement;
    };
    return (search_.straight && is_placed({.chunks = 1})) ||
           (search_.looped && chunks > 1 && is_placed({.chunks = chunks})) ||
           (search_.in_v && is_placed({.chunks = 2, .in_v = true}));
  }

  void try_catalogue() {
    std::vector<std::int32_t> chunks{search_.chunks};
    if (search_.chunks == 0) {
      chunks.resize(kMostChunks);
      std::iota(chunks.begin(), chunks.end(), 1);
    }
    each_catalogue_candidate(search_.params, chunks, [&](CatalogueCandidate candidate) {
      if (!is_asked_for(candidate.schedule)) return;
      ++answer_.catalogue_tried;
      try {
        std::optional<SearchedOrder> order = simulated(OrderOrigin::kCatalogue, candidate.name, candidate.schedule);
        if (!order && has_overlapped_pairs(candidate.schedule)) {
          offer_pairs(candidate.name, candidate.base, candidate.schedule);
        }
        if (!order) return;
        ++answer_.catalogue_fits;
        order->base = candidate.base;
        keep_best_variant(std::move(*order));
      } catch (const Error&) {  // no costs for so many stages, or it hangs as this runtime sends
      }
    });
    const std::vector<SearchedOrder> known = answer_.orders;
    for (const SearchedOrder& order : known) {
      if (order.origin == OrderOrigin::kCatalogue) offer_pairs(order.name, order.base, order.schedule);
    }
  }

  void keep_best_variant(SearchedOrder order) {
    const auto known = std::ranges::find(answer_.orders, order.base, &SearchedOrder::base);
    if (known == answer_.orders.end()) {
      answer_.orders.push_back(std::move(order));
    } else if (order.timeline.makespan < known->timeline.makespan) {
      *known = std::move(order);
    }
  }

  /// Half of the simulations from all orders, best first, the other half from the three best; all from few orders.
  void take_steps() {
    const std::int64_t half = search_.simulations / 2;
    const auto most = static_cast<std::size_t>(half / kFewestSteps);
    std::vector<SearchedOrder> starts = step_starts(most);
    if (starts.size() <= kStepStarts) {
      take_steps_from(step_starts(kStepStarts), search_.simulations, search_.seed);
    } else {
      take_steps_from(starts, half, search_.seed);
      take_steps_from(step_starts(kStepStarts), search_.simulations - half, search_.seed + 1);
    }
  }

  /// The best orders that can be changed in steps, at most so many.
  std::vector<SearchedOrder> step_starts(std::size_t most) {
    sort();
    std::vector<SearchedOrder> starts;
    for (const SearchedOrder& order : answer_.orders) {
      if (starts.size() >= most) break;
      if (!why_no_steps(order.schedule).empty() || passes_of(order.schedule) > kMostPassesOfSteps) continue;
      starts.push_back(order);
    }
    return starts;
  }

  void take_steps_from(const std::vector<SearchedOrder>& starts, std::int64_t simulations, std::uint64_t seed) {
    for (const SearchedOrder& start : starts) {
      const std::int64_t share = simulations / static_cast<std::int64_t>(starts.size());
      if (share < 2) return;
      OrderRun run = search_.run(start.schedule);
      run.is_given = given();
      ImprovedOrder improved = improve_order(start.schedule, run, share, seed);
      answer_.simulations += improved.simulations;
      if (improved.makespan >= start.timeline.makespan) continue;
      const std::string name = start.origin == OrderOrigin::kSteps ? start.name : "steps from: " + start.name;
      const auto known = std::ranges::find(answer_.orders, name, &SearchedOrder::name);
      if (known != answer_.orders.end()) {
        if (known->timeline.makespan <= improved.makespan) continue;
        answer_.orders.erase(known);
      }
      offer(OrderOrigin::kSteps, name, std::move(improved.schedule));
    }
  }

  void sort() {
    std::ranges::stable_sort(answer_.orders, {}, &SearchedOrder::origin);
    std::ranges::stable_sort(answer_.orders, &SearchedOrder::is_shorter_than);
  }

  /// 0: not known.
  Ticks bound_of(const SearchedOrder& order) {
    const Schedule& schedule = order.schedule;
    if (!why_no_blocks(schedule).empty() || schedule.num_stages > kMostStagesOfBound) return 0;
    const bool split = has_halves(schedule);
    if (split && has_whole_backwards(schedule)) return bound_of_mixed(schedule);
    if (search_.start && bounds_of_fills_[split ? 1 : 0] > 0) return bounds_of_fills_[split ? 1 : 0];
    const auto known = std::ranges::find_if(bounds_, [&](const PlacedBound& bound) {
      return bound.split == split && bound.placement == schedule.placement;
    });
    if (known != bounds_.end()) return known->bound;
    const Ticks bound = bounds_of(schedule, blocks_of(schedule, split)).makespan;
    bounds_.push_back({.placement = schedule.placement, .split = split, .bound = bound});
    return bound;
  }

  /// Where backwards are whole and in halves: a whole one is no shorter than its halves, one behind the other. Not
  /// known where it is, or where pairs save time.
  Ticks bound_of_mixed(const Schedule& schedule) const {
    const StageCosts costs = search_.run(schedule).costs;
    const bool shorter =
        std::ranges::any_of(costs.times, [](const StageTimes& times) { return times.b < times.i + times.w; });
    if (shorter || pairs_may_save(costs)) return 0;
    return bounds_of(schedule, blocks_of(schedule, true)).makespan;
  }

  const ScheduleSearch& search_;
  ScheduleSearchAnswer answer_;
  std::vector<PlacedBound> bounds_;         ///< of orders with the same placement and passes
  std::array<Ticks, 2> bounds_of_fills_{};  ///< of a start with open orders: whole, split; 0: not known
};

}  // namespace

bool has_halves(const Schedule& schedule) {
  return some_action(schedule, [](const Action& action) { return action.op == Op::kW; });
}

bool has_whole_backwards(const Schedule& schedule) {
  return some_action(schedule, [](const Action& action) { return action.op == Op::kB; });
}

double SearchedOrder::makespan_ns() const {
  return static_cast<double>(timeline.makespan) / static_cast<double>(timeline.base.ticks_per_ns);
}

bool SearchedOrder::is_shorter_than(const SearchedOrder& other) const {
  __extension__ using Wide = __int128;
  return Wide{timeline.makespan} * other.timeline.base.ticks_per_ns <
         Wide{other.timeline.makespan} * timeline.base.ticks_per_ns;
}

const SearchedOrder* ScheduleSearchAnswer::best_of_catalogue() const {
  const auto found = std::ranges::find(orders, OrderOrigin::kCatalogue, &SearchedOrder::origin);
  return found == orders.end() ? nullptr : &*found;
}

ScheduleSearchAnswer search_schedules(const ScheduleSearch& search) { return ScheduleSearcher(search).run(); }

}  // namespace plumb
