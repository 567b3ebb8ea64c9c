#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/action.hpp"

namespace plumb {

// An item of a list is one action, or an overlapped pair "(a;b)OVERLAP". Grammar: schedules/document/FORMAT.md.

/// Appends the text of one action; of an overlapped pair, only this half.
void append_text(std::string& out, const Action& action);

/// Appends the item that begins at `actions[at]` and returns the position after it.
std::size_t append_item(std::string& out, std::span<const Action> actions, std::size_t at);

/// Reads the text of one action; all of it must match. Returns what was expected ("a number after F") if it
/// does not match, and nothing if it does.
std::string_view read_action(std::string_view text, Action& action);

/// Reads one item and appends its one or two actions. Returns as `read_action` does.
std::string_view read_item(std::string_view text, std::vector<Action>& actions);

}  // namespace plumb
