#pragma once

#include "sim/runtimes/run_rules.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {

/// Declares how messages travel, which engine simulates, and the seed of the jitter; `rules` must outlive the table.
void add_run_rules_to(OptionTable& table, RunRules& rules);
/// Only how messages travel.
void add_messages_to(OptionTable& table, RunRules& rules);
/// Only where receives stand and how many messages are on their way.
void add_receives_to(OptionTable& table, RunRules& rules);

}  // namespace plumb
