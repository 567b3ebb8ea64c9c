#include "tools/findings.hpp"

namespace plumb {

std::string findings_text(const std::string& where, const std::vector<Violation>& violations) {
  constexpr std::size_t kMostShown = 100;
  std::string text;
  for (std::size_t i = 0; i < violations.size() && i < kMostShown; ++i) {
    text += where + ": " + to_string(violations[i]) + '\n';
  }
  if (violations.size() > kMostShown) text += "... and " + std::to_string(violations.size() - kMostShown) + " more\n";
  return text + where + ": invalid, " + std::to_string(violations.size()) +
         (violations.size() == 1 ? " finding\n" : " findings\n");
}

}  // namespace plumb
