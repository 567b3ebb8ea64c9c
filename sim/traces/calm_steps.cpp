#include "sim/traces/calm_steps.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace plumb {
namespace {

/// Steps of a run that differ by more than this are not alike.
constexpr double kAlike = 1.25;

bool is_much_longer(std::int64_t ns, std::int64_t than_ns) {
  return static_cast<double>(ns) > kAlike * static_cast<double>(than_ns);
}

/// The steps that count are as long as this.
struct CalmRange {
  std::int64_t shortest_ns = 0;
  std::int64_t median_ns = 0;  ///< the lower one, of all steps
};

CalmRange calm_range(std::span<const std::int64_t> step_ns) {
  std::vector<std::int64_t> sorted(step_ns.begin(), step_ns.end());
  std::ranges::sort(sorted);
  std::size_t at = (sorted.size() - 1) / 2;
  const std::int64_t median_ns = sorted[at];
  while (at > 0 && !is_much_longer(sorted[at], sorted[at - 1])) --at;
  return {sorted[at], median_ns};
}

std::string milliseconds(std::int64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g ms", static_cast<double>(ns) / 1e6);
  return text.data();
}

/// "Step 2 (434.9 ms) is", "Steps 0 (833.4 ms) and 1 (833.5 ms) are".
std::string steps_are(const std::vector<std::int32_t>& steps, std::span<const std::int64_t> step_ns) {
  std::string text = steps.size() == 1 ? "Step " : "Steps ";
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (k > 0) text += k + 1 == steps.size() ? " and " : ", ";
    text += std::to_string(steps[k]) + " (" + milliseconds(step_ns[static_cast<std::size_t>(steps[k])]) + ")";
  }
  return text + (steps.size() == 1 ? " is" : " are");
}

}  // namespace

std::vector<std::int32_t> calm_steps(std::span<const std::int64_t> step_ns) {
  std::vector<std::int32_t> calm;
  if (step_ns.empty()) return calm;
  const CalmRange range = calm_range(step_ns);
  for (std::size_t k = 0; k < step_ns.size(); ++k) {
    if (step_ns[k] >= range.shortest_ns && !is_much_longer(step_ns[k], range.median_ns))
      calm.push_back(static_cast<std::int32_t>(k));
  }
  return calm;
}

std::vector<std::string> left_out_steps(std::span<const std::int64_t> step_ns) {
  if (step_ns.empty()) return {};
  const CalmRange range = calm_range(step_ns);
  std::vector<std::int32_t> longer;
  std::vector<std::int32_t> shorter;
  for (std::size_t k = 0; k < step_ns.size(); ++k) {
    if (is_much_longer(step_ns[k], range.median_ns)) longer.push_back(static_cast<std::int32_t>(k));
    if (step_ns[k] < range.shortest_ns) shorter.push_back(static_cast<std::int32_t>(k));
  }
  std::vector<std::string> said;
  if (!longer.empty()) {
    said.push_back(steps_are(longer, step_ns) + " more than 1.25 times as long as the median step (" +
                   milliseconds(range.median_ns) + "), so disturbed: left out of all means.");
  }
  if (!shorter.empty()) {
    said.push_back(steps_are(shorter, step_ns) +
                   " left out of all means: the run has steps of two kinds, and the others took more than 1.25 "
                   "times as long (" +
                   milliseconds(range.shortest_ns) + " or more). If those were disturbed, trace more steps.");
  }
  return said;
}

}  // namespace plumb
