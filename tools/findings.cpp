#include "tools/findings.hpp"

#include <algorithm>

#include "sim/fold.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostChecked = std::int64_t{1} << 26U;

}  // namespace

std::vector<Violation> check_schedule(const Schedule& schedule) {
  std::int64_t left = kMostChecked;  // subtracting cannot overflow, adding up sizes could
  for (const DeviceList& list : schedule.devices) left -= std::min(left, expanded_size(list));
  if (left == 0) {
    const std::int64_t kept = std::max<std::int64_t>(256, 8 * std::int64_t{schedule.num_devices});
    if (const auto folded = fold(schedule, kept, 1)) return validate(folded->schedule);
  }
  return validate(schedule);
}

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
