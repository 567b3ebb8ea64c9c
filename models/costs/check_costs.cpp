#include "models/costs/check_costs.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"

namespace plumb {
namespace {

using StageTimeField = std::pair<std::string_view, Ticks StageTimes::*>;

constexpr std::array kStageTimes{
    StageTimeField{"F", &StageTimes::f},       StageTimeField{"B", &StageTimes::b},
    StageTimeField{"I", &StageTimes::i},       StageTimeField{"W", &StageTimes::w},
    StageTimeField{"R", &StageTimes::r},       StageTimeField{"U", &StageTimes::u},
    StageTimeField{"X", &StageTimes::x},       StageTimeField{"EVICT", &StageTimes::evict},
    StageTimeField{"LOAD", &StageTimes::load}, StageTimeField{"AR", &StageTimes::all_reduce}};

using CommField = std::pair<std::string_view, CommTime StageTimes::*>;

constexpr std::array kComms{CommField{"F.comm", &StageTimes::f_comm}, CommField{"B.comm", &StageTimes::b_comm},
                            CommField{"I.comm", &StageTimes::i_comm}, CommField{"W.comm", &StageTimes::w_comm}};

void check_cost(Ticks ticks, std::string_view key, std::size_t stage) {
  if (ticks >= 0 && ticks <= kMostCost) return;
  const std::string what = "costs: " + std::string(key) + " of stage " + std::to_string(stage);
  if (ticks < 0) throw Error(what + " is " + std::to_string(ticks) + " ticks; expected at least 0");
  throw Error(what + " is " + std::to_string(ticks) + " ticks; expected at most " + std::to_string(kMostCost) +
              " (104 days at a tick per ns)");
}

}  // namespace

void check_costs(const StageCosts& costs) {
  for (std::size_t stage = 0; stage < costs.times.size(); ++stage) {
    const StageTimes& times = costs.times[stage];
    for (const auto& [key, time] : kStageTimes) check_cost(times.*time, key, stage);
    for (const auto& [key, comm] : kComms) {
      check_cost((times.*comm).all, key, stage);
      check_cost((times.*comm).shown, key, stage);
    }
    for (std::size_t pair = 0; pair < kPairNames.size(); ++pair) {
      check_cost(times.pairs.ticks[pair], kPairNames[pair], stage);
    }
  }
  if (costs.comm) check_cost(*costs.comm, "comm", 0);
}

}  // namespace plumb
