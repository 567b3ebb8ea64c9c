#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/order_search/schedule_search.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "tools/ask/next_command.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/plans/order_search_answer.hpp"

namespace plumb {

class AnswerDocument;
struct Request;

/// The best order for given costs and memory. Every member has the default of the option that fills it.
struct SearchQuestion {
  static constexpr const char* kUsage = "search [NAME|FILE] [options]";

  std::vector<std::string> names;  ///< a schedule to start from, or none
  std::optional<std::int64_t> devices;
  std::optional<std::int64_t> microbatches;
  std::optional<std::int64_t> chunks;         ///< per device; none: any number, or that of the schedule to start from
  std::vector<std::string> schedule_options;  ///< of the schedule to start from
  std::string shape;                          ///< of blocks (`kBlockShapes`), in place of a schedule to start from
  std::string placement;                      ///< "straight", "looped", "v"; empty: all
  std::string backward;                       ///< "whole", "split"; empty: both
  std::optional<std::int64_t> repeated;
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> simulations;
  CostArguments costs;
  RunRules rules;
  GivenOptions given;  ///< for the command that comes next

  /// Declares the options; this object must outlive the table.
  void add_to(OptionTable& options);

  /// Throws `Error` for whatever is missing or does not fit together.
  OrderSearchAnswer answer() const;

  /// What simulates the best order again: of the document `file`, where there is one. Empty where the order is in no
  /// document and no schedule of the catalogue.
  std::string next(const OrderSearchAnswer& answer, const std::string& file) const;

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts() { return {"search", "text", "document"}; }
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);

 private:
  /// The schedule to start from. Throws `Error` for more than one, and for options of one where there is none.
  std::optional<SearchStart> start(const CostArguments& costs, const CostSource& source) const;
  /// The placement of `shape`, with open orders. Throws `Error` beside what says the same otherwise.
  SearchStart shape_start() const;
  void choose_placement(ScheduleSearch& search) const;
  /// The best schedule of the catalogue for the size, the costs and the memory of `search`, which begins with another
  /// one, with one or two stages per device, or as many as that has; none where they would not do equal work, or the
  /// size is too large to try them all.
  std::optional<SearchedOrder> best_known(ScheduleSearch search) const;
  ScheduleSearch search_of(const CostArguments& costs, const CostSource& source) const;
};

}  // namespace plumb
