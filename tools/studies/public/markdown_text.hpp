#pragma once

#include <string>
#include <vector>

#include "tools/terminal/quantity_text.hpp"

namespace plumb {

inline std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

inline std::string percent(double share) { return fixed_text(100 * share, 1) + " %"; }

inline std::string signed_percent(double share) { return (share > 0 ? "+" : "") + percent(share); }

}  // namespace plumb
