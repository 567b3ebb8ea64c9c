#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/order_search/schedule_search.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {

/// The answer to `plumbline search`.
struct OrderSearchAnswer {
  ScheduleSearchAnswer found;
  std::int64_t devices = 0;
  std::int64_t microbatches = 0;
  std::string start;            ///< the schedule that was started from; empty: none
  std::string costs;            ///< "F=1,B=2", "llama3-8b on h100"
  std::string memory_limit;     ///< as given; empty: none
  TimeWords times{};            ///< how times are said
  bool counts_stashes = false;  ///< memory is counted in stashes of 1/p of the model
  /// The best of the catalogue for the same size, costs and memory, where a schedule was started from.
  std::optional<SearchedOrder> known{};

  /// The best of the catalogue; null where none fits or none was tried.
  const SearchedOrder* best_of_catalogue() const { return known ? &*known : found.best_of_catalogue(); }
};

/// The best order with its bound, the other orders, and the smallest periods; without the command that comes next.
std::string order_search_text(const OrderSearchAnswer& answer);

/// `{"format": "plumbline-search", "version": 1, ...}`, without the documents of the orders.
std::string order_search_json(const OrderSearchAnswer& answer);

/// What is said where no order fits.
std::string no_order_text(const OrderSearchAnswer& answer);

}  // namespace plumb
