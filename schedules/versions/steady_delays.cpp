#include "schedules/versions/steady_delays.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace plumb {
namespace {

/// The parameter `timing` of a straight pipeline with one stage on each device; empty for every other document.
std::string_view straight_timing(const Schedule& schedule) {
  const auto found = schedule.parameters.find("timing");
  if (found == schedule.parameters.end() || schedule.num_stages != schedule.num_devices) return {};
  if (schedule.placement.size() != 1 || schedule.slices || schedule.forward_only || !is_chain(schedule)) return {};
  const auto is_spread = [](const std::vector<DeviceId>& devices) { return devices.size() != 1; };
  if (std::ranges::any_of(schedule.placement.front(), is_spread)) return {};
  const std::string* text = std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

std::optional<double> distance_of(std::string_view timing, std::int32_t stages, std::int32_t stage) {
  const std::int32_t after = stages - 1 - stage;
  if (timing == "1f1b") return after;
  if (timing == "slots") return 2 * after + 1;
  if (timing == "fused") return 2 * after;
  return std::nullopt;
}

/// Turns between an explicit replay of the stage and its backward (slots); none when nothing is replayed apart.
std::optional<double> replay_distance(const Schedule& schedule, std::int32_t stage) {
  for (const Recompute& rule : schedule.recompute) {
    const bool inside = rule.first_stage <= stage && stage <= rule.last_stage;
    if (inside && rule.segment && rule.first_stage < rule.last_stage) return 2 * (rule.last_stage - stage) + 1;
  }
  return std::nullopt;
}

}  // namespace

std::optional<SteadyDelays> steady_delays(const Schedule& schedule, StageId stage) {
  const std::string_view timing = straight_timing(schedule);
  const auto place = static_cast<std::int32_t>(stage);
  const std::optional<double> distance = distance_of(timing, schedule.num_stages, place);
  if (!distance) return std::nullopt;
  const auto per_update = static_cast<double>(schedule.per_update(stage));
  const double late = *distance / per_update;
  SteadyDelays delays{.forward = late, .backward = late, .recompute = late, .distance = *distance};
  switch (schedule.policy_of(stage)) {
    case WeightPolicy::kStash:
      break;
    case WeightPolicy::kVerticalSync:
      delays.forward = delays.backward = delays.recompute = *distance_of(timing, schedule.num_stages, 0) / per_update;
      break;
    case WeightPolicy::kDoubleBuffer:
      delays.forward = delays.backward = delays.recompute = 1;
      break;
    case WeightPolicy::kDelay:
      delays.forward = delays.backward = delays.recompute = schedule.weights.delay;
      break;
    case WeightPolicy::kLatest:
    case WeightPolicy::kPredicted:
      delays.backward = 0;
      delays.recompute = replay_distance(schedule, place).value_or(0) / per_update;
      break;
    case WeightPolicy::kFlush:
      return std::nullopt;
  }
  return delays;
}

bool has_closed_delays(const Schedule& schedule) {
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    if (!steady_delays(schedule, StageId{stage})) return false;
  }
  return true;
}

}  // namespace plumb
