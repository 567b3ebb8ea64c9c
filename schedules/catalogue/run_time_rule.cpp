#include "schedules/catalogue/run_time_rule.hpp"

#include <set>
#include <string>
#include <utility>

#include "schedules/catalogue/generator.hpp"

namespace plumb {

ChainTimes chain_times(const ScheduleParams& params, std::int32_t num_stages) {
  const auto stages = static_cast<std::size_t>(num_stages);
  ChainTimes times{std::vector<Ticks>(stages, 1), std::vector<Ticks>(stages, 2), std::vector<Ticks>(stages, 1), 0};
  if (!params.costs) return times;
  const StageCosts costs = params.costs(num_stages);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const StageTimes& of = costs.times[stage];
    times.forward[stage] = of.f;
    times.backward[stage] = of.b;
    times.recompute[stage] = of.r > 0 ? of.r : of.f;
  }
  times.transfer = costs.comm.value_or(0);
  return times;
}

void require_playable(std::string_view name, std::int64_t actions) {
  constexpr std::int64_t kMostActions = std::int64_t{1} << 24;
  require(actions <= kMostActions, name,
          "microbatches times stages (" + std::to_string(actions) + ") must be at most " +
              std::to_string(kMostActions) + ", because the rule is played through");
}

std::vector<std::vector<Action>> play(RunTimeRule& rule, std::int32_t num_devices) {
  struct Event {
    Ticks at = 0;
    std::int64_t number = 0;
    std::int32_t device = 0;
    bool is_arrival = false;  ///< otherwise the device has become idle
    Action work;
  };
  const auto later = [](const Event& a, const Event& b) {
    return std::pair(a.at, a.number) > std::pair(b.at, b.number);
  };
  std::priority_queue<Event, std::vector<Event>, decltype(later)> events(later);
  std::int64_t number = 0;
  const auto collect = [&] {
    for (const auto& [at, device, work] : std::exchange(rule.posted_, {})) {
      events.push({at, number++, device, true, work});
    }
  };
  collect();
  std::vector<std::vector<Action>> lists(static_cast<std::size_t>(num_devices));
  std::vector<bool> busy(lists.size(), false);
  std::set<std::int32_t> undecided;
  while (!events.empty()) {
    const Ticks now = events.top().at;
    for (; !events.empty() && events.top().at == now; events.pop()) {
      const Event& event = events.top();
      if (event.is_arrival) rule.arrive(event.device, event.work, now);
      if (!event.is_arrival) busy[static_cast<std::size_t>(event.device)] = false;
      undecided.insert(event.device);
    }
    for (const std::int32_t device : std::exchange(undecided, {})) {
      const auto d = static_cast<std::size_t>(device);
      if (busy[d]) continue;
      const auto [action, time] = rule.choose(device, now);
      if (time < 0) continue;
      busy[d] = true;
      lists[d].push_back(action);
      events.push({now + time, number++, device, false, {}});
      collect();
    }
  }
  return lists;
}

}  // namespace plumb
