#pragma once

#include <optional>
#include <string>

#include "schedules/document/schedule.hpp"
#include "sim/prediction/predict.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

/// Declares how messages travel, which engine simulates, and the seed of the jitter; `rules` must outlive the table.
void add_run_rules_to(OptionTable& table, RunRules& rules);
/// Only how messages travel.
void add_messages_to(OptionTable& table, RunRules& rules);
/// Only where receives stand and how many messages are on their way.
void add_receives_to(OptionTable& table, RunRules& rules);

/// Notes that an order was decided at run time with times without contention.
void note_order_without_contention();

/// Declares the order that devices decide at run time, with their lists as priorities; `order` must outlive the table.
void add_order_to(OptionTable& table, OrderRule& order);

/// The run that is simulated: `run` itself, or with the order that its devices decide (`decide_order`).
PreparedRun with_order(PreparedRun run, OrderRule order);

/// The file called `path` that such an order of `schedule` will be written to; none without a path. Throws `Error` when
/// the order is fixed, and for a name of another kind of file.
std::optional<OutputFile> order_file(const Schedule& schedule, OrderRule order, const std::string& path);

}  // namespace plumb
