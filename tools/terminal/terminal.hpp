#pragma once

#include <cstdio>

namespace plumb {

/// Whether `stream` is a terminal that understands colours and cursor movement (TERM is not "dumb").
bool is_terminal(std::FILE* stream);

/// Whether to colour what goes to standard output: a terminal, and NO_COLOR is not set (no-color.org).
bool wants_colour();

/// Columns of the terminal on standard output: COLUMNS when set, what the terminal says, 120 when it is none.
int terminal_columns();

}  // namespace plumb
