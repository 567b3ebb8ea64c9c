#include "tools/plans/order_search_answer.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostListed = 8;
constexpr std::array<std::string_view, 8> kOriginNames{"catalogue", "repeats", "exact",     "steps",
                                                       "given",     "counts",  "filled in", "pairs"};

std::string stages_text(std::int32_t per_device) {
  return std::to_string(per_device) + (per_device == 1 ? " stage per device" : " stages per device");
}

/// Times of an order in the words of the answer.
class OrderTimes {
 public:
  OrderTimes(Timebase base, TimeWords words) : base_(base), words_(words) {}

  std::string operator()(Ticks ticks) const { return time_text(to_ns(ticks, base_), words_); }

 private:
  Timebase base_;
  TimeWords words_;
};

/// How far the makespan is above its bound.
std::string gap_text(const SearchedOrder& order) {
  if (order.bound == 0) return "not known";
  if (order.timeline.makespan <= order.bound) return "none: proved";
  return percent_text(static_cast<double>(order.timeline.makespan - order.bound) / static_cast<double>(order.bound));
}

std::string peak_text(const SearchedOrder& order, bool counts_stashes) {
  double stashes = 0;
  std::int64_t bytes = 0;
  for (const DeviceSummary& device : order.timeline.devices) {
    stashes = std::max(stashes, device.peak_activations);
    bytes = std::max(bytes, device.peak_memory_bytes);
  }
  if (bytes > 0) return bytes_text(bytes);
  const auto& schedule = order.schedule;
  const bool several = counts_stashes && schedule.num_stages > schedule.num_devices;
  return number_text(several ? stashes * schedule.num_devices / schedule.num_stages : stashes);
}

std::int32_t stages_per_device(const SearchedOrder& order) {
  return std::max(1, order.schedule.num_stages / order.schedule.num_devices);
}

std::string bound_text(const SearchedOrder& order, const OrderTimes& times) {
  if (order.bound == 0) return "not known";
  return times(order.bound) + " for " + (has_halves(order.schedule) ? "split" : "whole") + " backwards and " +
         stages_text(stages_per_device(order));
}

/// The schedule that was started from, beside the best.
std::string as_given_text(const OrderSearchAnswer& answer) {
  const auto& orders = answer.found.orders;
  const auto given = std::ranges::find(orders, OrderOrigin::kGiven, &SearchedOrder::origin);
  if (given == orders.end()) {
    const auto filled = std::ranges::find(orders, OrderOrigin::kFilled, &SearchedOrder::origin);
    return filled == orders.end() ? "does not fit" : "has open orders";
  }
  const double more = given->makespan_ns() / orders.front().makespan_ns() - 1;
  return OrderTimes(given->timeline.base, answer.times)(given->timeline.makespan) +
         (more > 0 ? ", " + percent_text(more) + " longer" : "");
}

/// "zb-v, 25.5 ms, 22.7 % shorter": beside the best that was found.
std::string known_text(const SearchedOrder& known, const SearchedOrder& best, TimeWords words) {
  const double more = known.makespan_ns() / best.makespan_ns() - 1;
  return known.name + ", " + OrderTimes(known.timeline.base, words)(known.timeline.makespan) +
         (more > 0   ? ", " + percent_text(more) + " longer"
          : more < 0 ? ", " + percent_text(-more) + " shorter: another placement or other passes"
                     : "");
}

std::string best_text(const OrderSearchAnswer& answer) {
  const SearchedOrder& best = answer.found.orders.front();
  const OrderTimes times(best.timeline.base, answer.times);
  TextTable table({{""}, {""}});
  table.add_row({"search", (answer.start.empty() ? "" : answer.start + ", ") + "p " + std::to_string(answer.devices) +
                               ", m " + std::to_string(answer.microbatches)});
  table.add_row({"costs", answer.costs});
  if (answer.times == TimeWords::kUnits) {
    table.add_row({"times", answer.costs.starts_with("F=1,") ? "in units of one forward" : "in units of the costs"});
  }
  if (!answer.memory_limit.empty()) table.add_row({"memory limit", answer.memory_limit});
  table.add_row({"best order", best.name});
  table.add_row({"makespan", times(best.timeline.makespan)});
  table.add_row({"lower bound", bound_text(best, times)});
  table.add_row({"gap", gap_text(best)});
  const SearchedOrder* known = answer.best_of_catalogue();
  if (known != nullptr) table.add_row({"best of the catalogue", known_text(*known, best, answer.times)});
  if (!answer.start.empty()) {
    table.add_row({"as given", as_given_text(answer)});
    table.add_row({"effort", std::to_string(answer.found.nodes) + " nodes, " +
                                 std::to_string(answer.found.simulations) + " simulations"});
    const std::string text = table.to_string();
    return text.substr(text.find('\n') + 1);
  }
  if (known == nullptr) table.add_row({"best of the catalogue", "none fits"});
  table.add_row({"effort", std::to_string(answer.found.catalogue_fits) + " of " +
                               std::to_string(answer.found.catalogue_tried) +
                               " schedules and options of the catalogue fit; " + std::to_string(answer.found.nodes) +
                               " nodes, " + std::to_string(answer.found.simulations) + " simulations"});
  const std::string text = table.to_string();
  return text.substr(text.find('\n') + 1);
}

/// In what `peak_text` counts.
std::string peak_title(const OrderSearchAnswer& answer) {
  const auto& devices = answer.found.orders.front().timeline.devices;
  const bool bytes = std::ranges::any_of(devices, [](const auto& device) { return device.peak_memory_bytes > 0; });
  return bytes ? "tensors" : answer.counts_stashes ? "microbatches" : "units";
}

/// "interleaved-zb v=8: 24.38 units, proved to be the shortest".
std::string search_verdict(const OrderSearchAnswer& answer) {
  const SearchedOrder& best = answer.found.orders.front();
  const OrderTimes times(best.timeline.base, answer.times);
  const std::string text =
      best.name + ": " + times(best.timeline.makespan) + (answer.times == TimeWords::kUnits ? " units" : "");
  if (best.bound == 0) return text + "; how much shorter another order could be is not known";
  if (best.timeline.makespan <= best.bound) {
    return text + "; no order of its stages is shorter (proved)";
  }
  return text + ", at most " + gap_text(best) + " longer than the shortest";
}

std::string orders_text(const OrderSearchAnswer& answer) {
  TextTable table({{"order"},
                   {"from"},
                   {"makespan", '>'},
                   {"bound", '>'},
                   {"gap", '>'},
                   {peak_title(answer), '>', "held at peak:"}});
  std::size_t listed = 0;
  for (const SearchedOrder& order : answer.found.orders) {
    if (listed++ == kMostListed) break;
    const OrderTimes times(order.timeline.base, answer.times);
    table.add_row({order.name, std::string(kOriginNames[static_cast<std::size_t>(order.origin)]),
                   times(order.timeline.makespan), order.bound == 0 ? "" : times(order.bound), gap_text(order),
                   peak_text(order, answer.counts_stashes)});
  }
  return table.to_string();
}

/// The best order for each number of stages per device, beside the best of the catalogue; empty where there is one
/// number.
std::string cuts_text(const OrderSearchAnswer& answer) {
  std::map<std::int32_t, std::pair<const SearchedOrder*, const SearchedOrder*>> cuts;
  for (const SearchedOrder& order : answer.found.orders) {
    auto& [best, known] = cuts[stages_per_device(order)];
    if (best == nullptr) best = &order;
    if (known == nullptr && order.origin == OrderOrigin::kCatalogue) known = &order;
  }
  if (cuts.size() < 2) return "";
  TextTable table({{"stages per device", '>'},
                   {"best order"},
                   {"makespan", '>'},
                   {"bound", '>'},
                   {"gap", '>'},
                   {.title = "best of the catalogue", .spare = true},
                   {.title = "makespan", .align = '>', .spare = true}});
  for (const auto& [stages, orders] : cuts) {
    const auto& [best, known] = orders;
    const OrderTimes times(best->timeline.base, answer.times);
    table.add_row({std::to_string(stages), best->name, times(best->timeline.makespan),
                   best->bound == 0 ? "" : times(best->bound), gap_text(*best),
                   known == nullptr ? "none fits" : known->name,
                   known == nullptr ? "" : times(known->timeline.makespan)});
  }
  return "\n" + table.to_string();
}

std::string families_text(const OrderSearchAnswer& answer) {
  const bool pairs = std::ranges::any_of(answer.found.families, &SearchedFamily::with_pairs);
  TextTable table({{"placement and passes"},
                   {"bound", '>'},
                   {"at least each", '>'},
                   {pairs ? "smallest period of 1, 2, ..., without pairs" : "smallest period of 1, 2, ..."}});
  for (const SearchedFamily& family : answer.found.families) {
    if (!family.refused.empty()) {
      table.add_row({family.name, "", "", family.refused});
      continue;
    }
    const OrderTimes times(family.base, answer.times);
    std::string periods;
    for (const SearchedPeriod& period : family.periods) {
      periods += (periods.empty() ? "" : ", ") + times(period.period);
      if (period.period > period.bound) periods += " (at least " + times(period.bound) + ")";
    }
    table.add_row({family.name, times(family.bound),
                   ns_text(family.rate.per_microbatch() / static_cast<double>(family.base.ticks_per_ns), answer.times),
                   periods});
  }
  return table.to_string();
}

}  // namespace

std::string no_order_text(const OrderSearchAnswer& answer) {
  std::string text = "search: no order fits";
  if (!answer.memory_limit.empty()) text += " in the memory limit of " + answer.memory_limit;
  for (const SearchedFamily& family : answer.found.families) {
    if (!family.refused.empty()) return text + ": " + family.refused;
  }
  return text;
}

std::string order_search_text(const OrderSearchAnswer& answer) {
  const std::string families = answer.found.families.empty() ? "" : "\n" + families_text(answer);
  const std::string cuts = answer.start.empty() ? cuts_text(answer) : "";
  return verdict_text(search_verdict(answer)) + best_text(answer) + "\n" + orders_text(answer) + cuts + families;
}

namespace {

constexpr std::array<std::string_view, 8> kOriginKeys{"catalogue", "repetend", "exact",  "steps",
                                                      "given",     "counts",   "filled", "pairs"};

nlohmann::ordered_json order_json(const SearchedOrder& order) {
  const Timebase base = order.timeline.base;
  double stashes = 0;
  std::int64_t bytes = 0;
  for (const DeviceSummary& device : order.timeline.devices) {
    stashes = std::max(stashes, device.peak_activations);
    bytes = std::max(bytes, device.peak_memory_bytes);
  }
  nlohmann::ordered_json json{{"name", order.name},
                              {"origin", kOriginKeys[static_cast<std::size_t>(order.origin)]},
                              {"stages", order.schedule.num_stages},
                              {"makespan_ns", to_ns(order.timeline.makespan, base)},
                              {"step_time_ns", to_ns(order.timeline.step_time, base)},
                              {"bubble_rate", order.timeline.bubble_rate},
                              {"peak_activations", stashes},
                              {"peak_memory_bytes", bytes}};
  if (order.bound > 0) {
    json["bound_ns"] = to_ns(order.bound, base);
    json["proved"] = order.timeline.makespan <= order.bound;
  }
  return json;
}

nlohmann::ordered_json family_json(const SearchedFamily& family) {
  const Timebase base = family.base;
  if (!family.refused.empty()) return {{"name", family.name}, {"refused", family.refused}};
  nlohmann::ordered_json periods = nlohmann::ordered_json::array();
  for (const SearchedPeriod& period : family.periods) {
    periods.push_back({{"microbatches", period.microbatches},
                       {"period_ns", to_ns(period.period, base)},
                       {"bound_ns", to_ns(period.bound, base)},
                       {"proved", period.period == period.bound}});
  }
  return {{"name", family.name},
          {"bound_ns", to_ns(family.bound, base)},
          {"tree_ended", family.tree_ended},
          {"with_pairs", family.with_pairs},
          {"least_per_microbatch_ns", family.rate.per_microbatch() / static_cast<double>(base.ticks_per_ns)},
          {"periods", std::move(periods)}};
}

}  // namespace

std::string order_search_json(const OrderSearchAnswer& answer) {
  const ScheduleSearchAnswer& found = answer.found;
  nlohmann::ordered_json orders = nlohmann::ordered_json::array();
  for (const SearchedOrder& order : found.orders) orders.push_back(order_json(order));
  nlohmann::ordered_json families = nlohmann::ordered_json::array();
  for (const SearchedFamily& family : found.families) families.push_back(family_json(family));
  nlohmann::ordered_json document{{"format", "plumbline-search"}, {"version", 1},
                                  {"devices", answer.devices},    {"microbatches", answer.microbatches},
                                  {"costs", answer.costs},        {"memory_limit", answer.memory_limit}};
  if (!answer.start.empty()) document["start"] = answer.start;
  if (const SearchedOrder* known = answer.best_of_catalogue()) document["best_of_catalogue"] = order_json(*known);
  document["catalogue_tried"] = found.catalogue_tried;
  document["catalogue_fits"] = found.catalogue_fits;
  document["nodes"] = found.nodes;
  document["simulations"] = found.simulations;
  document["orders"] = std::move(orders);
  document["families"] = std::move(families);
  return document.dump(1) + "\n";
}

}  // namespace plumb
