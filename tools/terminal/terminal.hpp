#pragma once

#include <cstdio>

namespace plumb {

/// Where no terminal says how wide it is.
inline constexpr int kDefaultColumns = 80;

/// Whether `stream` is a terminal that understands colours and cursor movement (TERM is not "dumb").
bool is_terminal(std::FILE* stream);

/// Whether standard output gets colours: when it is a terminal and NO_COLOR is not set (no-color.org).
bool wants_colour();

/// Columns of the terminal on standard output: COLUMNS when set, else the width of the terminal, else
/// `kDefaultColumns`.
int terminal_columns();

}  // namespace plumb
