#include "tests/support/replay.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "schedules/schedule_io.hpp"

namespace plumb::testing {
namespace {

using Key = std::tuple<std::int32_t, char, std::int32_t>;  // stage, F or B (or I), microbatch

std::int64_t length(const Action& action, const UnitTimes& times) {
  switch (action.op) {
    case Op::kF:
      return times.f;
    case Op::kB:
      return times.b;
    case Op::kI:
      return times.i;
    case Op::kW:
      return times.w;
    default:
      return 0;
  }
}

/// When the inputs of `action` are there; nothing when one is not.
std::optional<std::int64_t> ready(const Action& action, std::int32_t num_stages,
                                  const std::map<Key, std::int64_t>& done) {
  const auto stage = static_cast<std::int32_t>(action.stage);
  const auto microbatch = static_cast<std::int32_t>(action.microbatch);
  std::vector<Key> needs;
  if (action.op == Op::kF && stage > 0) needs.push_back({stage - 1, 'F', microbatch});
  if (is_backward(action.op)) needs.push_back({stage, 'F', microbatch});
  if (is_backward(action.op) && stage + 1 < num_stages) needs.push_back({stage + 1, 'B', microbatch});
  if (action.op == Op::kW) needs.push_back({stage, 'B', microbatch});
  std::int64_t at = 0;
  for (const Key& key : needs) {
    const auto found = done.find(key);
    if (found == done.end()) return std::nullopt;
    at = std::max(at, found->second);
  }
  return at;
}

}  // namespace

Replay replay(const Schedule& schedule, const UnitTimes& times) {
  std::vector<std::vector<Action>> lists;
  for (const DeviceList& list : schedule.devices) lists.push_back(expand(list));
  Replay run;
  run.devices.resize(lists.size());
  std::vector<std::size_t> next(lists.size(), 0);
  std::vector<std::int64_t> free(lists.size(), 0);
  std::map<Key, std::int64_t> done;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t d = 0; d < lists.size(); ++d) {
      while (next[d] < lists[d].size()) {
        const std::size_t size = lists[d][next[d]].overlaps_next ? 2 : 1;
        std::int64_t start = free[d];
        std::int64_t total = 0;
        bool stuck = false;
        for (std::size_t i = next[d]; i < next[d] + size; ++i) {
          const auto at = ready(lists[d][i], schedule.num_stages, done);
          stuck |= !at.has_value();
          start = std::max(start, at.value_or(0));
          total += length(lists[d][i], times);
        }
        if (stuck) break;
        for (std::size_t i = next[d]; i < next[d] + size; ++i) {
          const Action& action = lists[d][i];
          run.devices[d].push_back({action, start, start + total});
          const char op = action.op == Op::kF ? 'F' : is_backward(action.op) ? 'B' : '-';
          done[{static_cast<std::int32_t>(action.stage), op, static_cast<std::int32_t>(action.microbatch)}] =
              start + total;
        }
        free[d] = start + total;
        next[d] += size;
        moved = true;
      }
    }
  }
  run.finished = true;
  for (std::size_t d = 0; d < lists.size(); ++d) {
    run.finished &= next[d] == lists[d].size();
    run.makespan = std::max(run.makespan, free[d]);
  }
  return run;
}

std::vector<std::int64_t> peak_stashes(const Schedule& schedule) {
  std::vector<std::int64_t> peaks;
  for (const DeviceList& list : schedule.devices) {
    std::int64_t now = 0;
    std::int64_t peak = 0;
    for (const Action& action : expand(list)) {
      now += action.op == Op::kF ? 1 : action.op == Op::kB || action.op == Op::kW ? -1 : 0;
      peak = std::max(peak, now);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

std::string picture(const Schedule& schedule, const UnitTimes& times) {
  const Replay run = replay(schedule, times);
  std::vector<std::vector<std::pair<std::string, Placed>>> rows;
  std::size_t width = 2;
  for (const auto& placed : run.devices) {
    std::set<std::pair<ReplicaId, StageId>> held;
    for (const Placed& one : placed) held.insert({one.action.replica, one.action.stage});
    auto& row = rows.emplace_back();
    for (const Placed& one : placed) {
      if (one.start == one.end) continue;
      std::string label = std::string(kOpNames[static_cast<std::size_t>(one.action.op)]) +
                          std::to_string(static_cast<std::int32_t>(one.action.microbatch));
      const auto number = std::distance(held.begin(), held.find({one.action.replica, one.action.stage}));
      if (held.size() > 1) label += static_cast<char>('a' + number);
      const bool second_of_pair = !row.empty() && row.back().second.start == one.start;
      if (second_of_pair) {
        row.back().first += label;
      } else {
        row.emplace_back(label, one);
      }
      width = std::max(width, row.back().first.size());
    }
  }
  std::string text = schedule_to_text(schedule) + "\n";
  for (std::size_t d = 0; d < rows.size(); ++d) {
    std::vector<std::string> columns(static_cast<std::size_t>(run.makespan));
    for (const auto& [label, placed] : rows[d]) {
      for (std::int64_t t = placed.start; t < placed.end; ++t) {
        columns[static_cast<std::size_t>(t)] = t == placed.start ? label : std::string(width, '=');
      }
    }
    text += "d" + std::to_string(d) + " |";
    for (const std::string& column : columns) text += " " + column + std::string(width - column.size(), ' ');
    text += " |\n";
  }
  return text;
}

}  // namespace plumb::testing
