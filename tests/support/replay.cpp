#include "tests/support/replay.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "schedules/document/schedule_io.hpp"

namespace plumb::testing {
namespace {

using Key = std::tuple<std::int32_t, char, std::int32_t, std::int32_t>;  // stage, F or B (or I), microbatch, slice
using Done = std::map<Key, std::int64_t>;

std::vector<std::int64_t> slice_lengths_of(const Schedule& schedule, std::int32_t microbatch) {
  if (!schedule.slices) return {1};
  const auto& rows = schedule.slices->lengths;
  return rows[rows.size() == 1 ? 0 : static_cast<std::size_t>(microbatch)];
}

/// Everything that one action does, one key for each microbatch and slice.
std::vector<Key> parts(const Schedule& schedule, const Action& action) {
  std::vector<Key> keys;
  const char op = action.op == Op::kF ? 'F' : is_backward(action.op) ? 'B' : '-';
  for (int i = 0; i <= action.merged; ++i) {
    const std::int32_t microbatch = static_cast<std::int32_t>(action.microbatch) + i;
    const auto slices = static_cast<std::int32_t>(slice_lengths_of(schedule, std::max(microbatch, 0)).size());
    for (std::int32_t slice = 0; slice < slices; ++slice) {
      if (action.slice != Action::kAllSlices && action.slice != slice) continue;
      keys.emplace_back(static_cast<std::int32_t>(action.stage), op, microbatch, slice);
    }
  }
  return keys;
}

bool recomputes_with(const Schedule& schedule, const Action& action) {
  const auto microbatch = static_cast<std::int32_t>(action.microbatch);
  for (const DeviceList& list : schedule.devices) {
    for (const Action& other : expand(list)) {
      if (other.op == Op::kR && other.stage == action.stage && other.microbatch == action.microbatch) return false;
    }
  }
  return std::any_of(schedule.recompute.begin(), schedule.recompute.end(), [&](const Recompute& rule) {
    const auto stage = static_cast<std::int32_t>(action.stage);
    const auto& listed = rule.microbatches;
    const std::int64_t per_update = schedule.per_update(action.stage);
    return rule.first_stage <= stage && stage <= rule.last_stage &&
           !(rule.except_last_microbatch && microbatch % per_update == per_update - 1) &&
           (listed.empty() || std::find(listed.begin(), listed.end(), microbatch) != listed.end());
  });
}

/// Of a stage with a part of the vocabulary.
std::int64_t vocabulary_length(const Schedule& schedule, const Action& action, const UnitTimes& times) {
  const auto& head = schedule.vocabulary->output;
  if (std::find(head.begin(), head.end(), action.stage) == head.end()) return 0;
  return action.op == Op::kF ? times.s : action.op == Op::kB || action.op == Op::kW ? times.t : 0;
}

bool holds_layers(const Schedule& schedule, StageId stage) {
  if (!schedule.vocabulary) return true;
  const auto& [input, output, loss, at_once] = *schedule.vocabulary;
  return std::find(input.begin(), input.end(), stage) == input.end() &&
         std::find(output.begin(), output.end(), stage) == output.end() && loss != stage;
}

std::int64_t unit_length(const Schedule& schedule, const Action& action, const UnitTimes& times) {
  if (!holds_layers(schedule, action.stage)) return vocabulary_length(schedule, action, times);
  const bool again = is_backward(action.op) && !schedule.recompute.empty() && recomputes_with(schedule, action);
  switch (action.op) {
    case Op::kF:
      return times.f;
    case Op::kB:
      return times.b + (again ? times.r : 0);
    case Op::kI:
      return times.i + (again ? times.r : 0);
    case Op::kW:
      return times.w;
    case Op::kR:
      return times.r;
    default:
      return 0;
  }
}

std::int64_t length(const Schedule& schedule, const Action& action, const UnitTimes& times) {
  if (action.op == Op::kX) {
    const double units =
        schedule.extras.find("X" + std::to_string(static_cast<std::int32_t>(action.microbatch)))->second.units;
    return static_cast<std::int64_t>(static_cast<double>(times.x) * units + 0.5);
  }
  std::int64_t sum = 0;
  const std::int64_t one = unit_length(schedule, action, times);
  if (one == 0) return 0;
  for (const auto& [stage, op, microbatch, slice] : parts(schedule, action)) {
    const auto at = static_cast<std::size_t>(microbatch);
    const std::int64_t size = schedule.microbatch_sizes.empty() ? 1 : schedule.microbatch_sizes[at];
    sum += one * size * slice_lengths_of(schedule, microbatch)[static_cast<std::size_t>(slice)];
  }
  return sum;
}

std::vector<std::pair<std::int32_t, std::int32_t>> edges(const Schedule& schedule) {
  std::vector<std::pair<std::int32_t, std::int32_t>> all;
  for (std::int32_t s = 0; !schedule.stage_edges && s + 1 < schedule.num_stages; ++s) all.emplace_back(s, s + 1);
  if (!schedule.stage_edges) return all;
  for (const auto& [from, to] : *schedule.stage_edges) all.emplace_back(index(from), index(to));
  return all;
}

/// What `part` of `action` needs.
std::vector<Key> needs(const Schedule& schedule, const Action& action, const Key& part) {
  const auto [stage, op, microbatch, slice] = part;
  std::vector<Key> keys;
  const bool causal =
      schedule.slices && schedule.slices->axis == Slices::Axis::kSequence && action.slice != Action::kAllSlices;
  const bool last_slice =
      slice + 1 == static_cast<std::int32_t>(slice_lengths_of(schedule, std::max(microbatch, 0)).size());
  for (const auto& [from, to] : edges(schedule)) {
    if (action.op == Op::kF && to == stage) keys.emplace_back(from, 'F', microbatch, slice);
    if (is_backward(action.op) && from == stage) keys.emplace_back(to, 'B', microbatch, slice);
  }
  if (action.op == Op::kF && causal && slice > 0) keys.emplace_back(stage, 'F', microbatch, slice - 1);
  if (is_backward(action.op) || action.op == Op::kR) keys.emplace_back(stage, 'F', microbatch, slice);
  if (is_backward(action.op) && causal && !last_slice) keys.emplace_back(stage, 'B', microbatch, slice + 1);
  if (action.op == Op::kW) keys.emplace_back(stage, 'B', microbatch, slice);
  return keys;
}

/// When the inputs of `action` are there; nothing when one is not.
std::optional<std::int64_t> ready(const Schedule& schedule, const Action& action, const Done& done) {
  std::vector<Key> needed;
  for (const Key& part : parts(schedule, action)) {
    for (const Key& key : needs(schedule, action, part)) needed.push_back(key);
  }
  for (const ExtraEdge& edge : schedule.extra_edges) {
    if (edge.after.stage != action.stage || edge.after.op != action.op || edge.after.microbatch != action.microbatch) {
      continue;
    }
    for (const Key& key : parts(schedule, edge.before)) needed.push_back(key);
  }
  std::int64_t at = 0;
  for (const Key& key : needed) {
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
  Done done;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t d = 0; d < lists.size(); ++d) {
      while (next[d] < lists[d].size()) {
        const std::size_t size = lists[d][next[d]].overlaps_next ? 2 : 1;
        std::int64_t start = free[d];
        std::int64_t total = 0;
        bool stuck = false;
        for (std::size_t i = next[d]; i < next[d] + size; ++i) {
          const auto at = ready(schedule, lists[d][i], done);
          stuck |= !at.has_value();
          start = std::max(start, at.value_or(0));
          total += length(schedule, lists[d][i], times);
        }
        if (stuck) break;
        for (std::size_t i = next[d]; i < next[d] + size; ++i) {
          const Action& action = lists[d][i];
          run.devices[d].push_back({action, start, start + total});
          for (const Key& part : parts(schedule, action)) done[part] = start + total;
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
      const auto count = static_cast<std::int64_t>(parts(schedule, action).size());
      now += action.op == Op::kF ? count : action.op == Op::kB || action.op == Op::kW ? -count : 0;
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
      if (one.action.slice != Action::kAllSlices) label += "." + std::to_string(one.action.slice);
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
  std::string text = lists_to_text(schedule) + "\n";
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
