#include "sim/traces/crowd.hpp"

#include <algorithm>
#include <utility>

namespace plumb {

Crowd::Crowd(const std::vector<Flight>& flights) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (const Flight& flight : flights) {
    steps.emplace_back(flight.start_ns, 1);
    steps.emplace_back(flight.end_ns, -1);
  }
  std::ranges::sort(steps);
  Change now;
  for (const auto& [at_ns, by] : steps) {
    now.sum += static_cast<double>(now.count) * static_cast<double>(at_ns - now.at_ns);
    now.at_ns = at_ns;
    now.count += by;
    changes_.push_back(now);
  }
}

double Crowd::sum_until(std::int64_t ns) const {
  const auto after = std::ranges::upper_bound(changes_, ns, {}, &Change::at_ns);
  if (after == changes_.begin()) return 0;
  const Change& last = *(after - 1);
  return last.sum + static_cast<double>(last.count) * static_cast<double>(ns - last.at_ns);
}

double Crowd::mean(std::int64_t start_ns, std::int64_t end_ns) const {
  return (sum_until(end_ns) - sum_until(start_ns)) / static_cast<double>(end_ns - start_ns);
}

double message_capacity(const std::vector<CrowdedMessage>& messages, double alone_ns) {
  constexpr int kLeast = 3;
  double alone = 0;
  double took = 0;
  int count = 0;
  for (const CrowdedMessage& message : messages) {
    if (message.mean < kCrowded) continue;
    alone += message.mean * alone_ns;
    took += static_cast<double>(message.took_ns);
    ++count;
  }
  return count < kLeast ? 0 : std::max(1.0, alone / took);
}

}  // namespace plumb
