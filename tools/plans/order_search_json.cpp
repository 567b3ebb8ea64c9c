#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "tools/plans/order_search_answer.hpp"

namespace plumb {
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

nlohmann::ordered_json family_json(const SearchedFamily& family, Timebase base) {
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
  const Timebase base = found.orders.empty() ? Timebase{} : found.orders.front().timeline.base;
  nlohmann::ordered_json orders = nlohmann::ordered_json::array();
  for (const SearchedOrder& order : found.orders) orders.push_back(order_json(order));
  nlohmann::ordered_json families = nlohmann::ordered_json::array();
  for (const SearchedFamily& family : found.families) families.push_back(family_json(family, base));
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
