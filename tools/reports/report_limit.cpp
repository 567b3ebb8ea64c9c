#include "tools/reports/report_limit.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "models/ground/error.hpp"

namespace plumb {

void check_report(const ReportLimit& limit, std::size_t count, bool at_least) {
  if (count <= limit.most) return;
  throw Error(std::string(limit.report) + ": " + (at_least ? "at least " : "") + std::to_string(count) +
              " spans and memory changes, expected at most " + std::to_string(limit.most) +
              " (fewer microbatches or devices, or " + std::string(limit.instead) + ")");
}

std::int64_t least_spans(const Schedule& schedule) {
  double total = 0;
  for (const DeviceList& list : schedule.devices) {
    std::vector<double> turns(list.actions.size(), 1);
    for (const Repeat& repeat : list.repeats) {
      for (std::size_t at = repeat.begin; at < repeat.end; ++at) turns[at] *= static_cast<double>(repeat.count);
    }
    for (std::size_t at = 0; at < list.actions.size(); ++at) {
      if (list.actions[at].op <= Op::kR) total += turns[at];
    }
  }
  return static_cast<std::int64_t>(std::min(total, 0x1p53));
}

}  // namespace plumb
