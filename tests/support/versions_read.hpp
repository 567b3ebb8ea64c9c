#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedules/lowering/lower.hpp"

namespace plumb::testing {

/// The version that the forward and the backward of every (microbatch, stage) reads, as the lowered program says.
struct VersionsRead {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> forward;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> backward;
};

inline Program lowered(const Schedule& schedule) {
  StageCosts costs;
  costs.times.assign(static_cast<std::size_t>(schedule.num_stages), StageTimes{.f = 1, .b = 2, .i = 1, .w = 1});
  costs.comm = 0;
  return lower(schedule, costs);
}

inline VersionsRead versions_read(const Schedule& schedule) {
  const Program program = lowered(schedule);
  VersionsRead reads;
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const Action& action = program.instrs[at].action;
    const std::pair<std::int64_t, std::int64_t> key{static_cast<std::int64_t>(action.microbatch),
                                                    static_cast<std::int64_t>(action.stage)};
    // A synchronous program does not say it: everything reads the version of its update.
    const auto update = static_cast<std::int32_t>(key.first / schedule.per_update(action.stage));
    const std::int32_t version = program.version_read.empty() ? update : program.version_read[at];
    if (action.op == Op::kF) reads.forward[key] = version;
    if (is_backward(action.op)) reads.backward[key] = version;
  }
  return reads;
}

/// Largest number of versions of its weights, the newest included, that each holder keeps at once.
inline std::vector<std::int64_t> most_versions(const Schedule& schedule) {
  const Program program = lowered(schedule);
  std::vector<std::int64_t> most(program.holders.size(), 1);
  for (std::uint32_t holder = 0; holder < program.holders.size(); ++holder) {
    std::map<InstrIndex, std::int64_t> change;
    for (const KeptVersion& kept : program.kept_versions) {
      if (kept.holder != holder) continue;
      ++change[kept.replaced_by];
      --change[kept.last_reader];
    }
    std::int64_t alive = 1;
    for (const auto& [at, step] : change) most[holder] = std::max(most[holder], alive += step);
  }
  return most;
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The newest version at a forward of microbatch `k` with `delay` backwards between it and its own: L_F of
/// PipeMare's and PipeDream's analyses.
constexpr std::int64_t newest_at_forward(std::int64_t k, std::int64_t delay, std::int64_t per_update) {
  return k < delay ? 0 : (k - delay) / per_update;
}

}  // namespace plumb::testing
