#include "schedules/program/list_times.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "schedules/program/lane_run.hpp"
#include "schedules/program/producer_table.hpp"
#include "schedules/rules/dependency_rules.hpp"

namespace plumb {
namespace {

std::int32_t most_slices(const Schedule& schedule) {
  std::size_t most = 1;
  if (schedule.slices) {
    for (const auto& lengths : schedule.slices->lengths) most = std::max(most, lengths.size());
  }
  return static_cast<std::int32_t>(most);
}

/// What has been done, with its device and end.
class DoneTable {
 public:
  DoneTable(const Schedule& schedule, Ticks transfer)
      : rules_(schedule),
        transfer_(transfer),
        places_(schedule.num_stages, schedule.num_microbatches, most_slices(schedule)) {}

  void add(const Action& action, std::size_t device, Ticks end) {
    places_.set(action, static_cast<std::uint32_t>(ends_.size()));
    ends_.push_back({device, end});
  }

  /// When everything is there that `action` takes from other stages; nothing while something is missing.
  std::optional<Ticks> inputs_at(const Action& action, std::size_t device) const {
    Ticks at = 0;
    bool missing = false;
    rules_.for_each(action, [&](const Action& needed, DependencyKind kind) {
      if (kind != DependencyKind::kActivation && kind != DependencyKind::kGradient) return;
      const std::uint32_t place = places_.find(needed);
      missing = missing || place == ProducerTable::kNone;
      if (place == ProducerTable::kNone) return;
      at = std::max(at, ends_[place].end + (ends_[place].device == device ? 0 : transfer_));
    });
    return missing ? std::nullopt : std::optional(at);
  }

 private:
  struct Done {
    std::size_t device = 0;
    Ticks end = 0;
  };

  DependencyRules rules_;
  Ticks transfer_;
  ProducerTable places_;
  std::vector<Done> ends_;
};

}  // namespace

ListTimes list_times(const Schedule& schedule, const std::function<Ticks(const Action&)>& duration, Ticks transfer) {
  std::vector<std::vector<Action>> lists;
  for (const DeviceList& list : schedule.devices) lists.push_back(expand(list));
  ListTimes times;
  times.devices.resize(lists.size());
  DoneTable done(schedule, transfer);
  run_in_turns(lists.size(), [&](std::size_t d) {
    auto& spans = times.devices[d];
    if (spans.size() == lists[d].size()) return false;
    const Action& action = lists[d][spans.size()];
    const std::optional<Ticks> inputs = done.inputs_at(action, d);
    if (!inputs) return false;
    const Ticks start = std::max(*inputs, spans.empty() ? 0 : spans.back().end);
    spans.push_back({action, start, start + duration(action)});
    done.add(action, d, spans.back().end);
    times.makespan = std::max(times.makespan, spans.back().end);
    return true;
  });
  return times;
}

}  // namespace plumb
