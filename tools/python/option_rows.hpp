#pragma once

#include <string>
#include <vector>

#include "tools/options/option_table.hpp"

namespace plumb {

/// An option as the documentation of a Python function shows it.
struct OptionRow {
  std::string name;  ///< of the keyword argument: "memory_limit"
  OptionKind kind = OptionKind::kText;
  std::string placeholder;
  std::string help;
};

/// The options of `simulate`, `schedule`, `sweep` or `validate`. Throws `Error` for other names.
std::vector<OptionRow> option_rows(const std::string& question);

}  // namespace plumb
