#include "schedules/document/extra_work.hpp"

#include <cmath>
#include <iterator>
#include <numeric>
#include <string>

#include "models/costs/stage_costs.hpp"
#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"

namespace plumb {
namespace {

Ticks pass_time(const ExtraWork& work, const StageCosts& costs, StageId stage) {
  const auto stages = static_cast<std::int64_t>(costs.times.size());
  const std::int64_t after = (static_cast<std::int64_t>(index(stage)) + work.stages_ahead) % stages;
  const StageTimes& times = costs.times[static_cast<std::size_t>(after < 0 ? after + stages : after)];
  switch (work.pass) {
    case Op::kB:
      return times.b;
    case Op::kI:
      return times.i;
    case Op::kW:
      return times.w;
    case Op::kR:
      return times.r;
    default:
      return times.f;
  }
}

Ticks layers_time(const ExtraWork& work, const StageCosts& costs) {
  const std::string where =
      "extras: layers [" + std::to_string(work.first_layer) + ", " + std::to_string(work.end_layer) + "): ";
  if (costs.layer_forward.empty()) {
    throw Error(where + "the times of single layers are not known, expected a profile that has them (`layers`)");
  }
  if (work.end_layer > std::ssize(costs.layer_forward)) {
    throw Error(where + "expected at most " + std::to_string(costs.layer_forward.size()) + ", the network's layers");
  }
  const auto begin = costs.layer_forward.begin();
  return std::accumulate(begin + work.first_layer, begin + work.end_layer, Ticks{0});
}

}  // namespace

Ticks extra_time(const ExtraWork& work, const StageCosts& costs, StageId stage) {
  constexpr std::string_view kWhat = "extra work";
  if (work.kind == ExtraWork::Kind::kTime) {
    checked_ticks(static_cast<double>(work.time_ns) * static_cast<double>(costs.base.ticks_per_ns), kWhat);
    return work.time_ns * costs.base.ticks_per_ns;
  }
  Ticks one = costs.times[index(stage)].x;
  if (costs.from_network) {
    one = work.kind == ExtraWork::Kind::kPass     ? pass_time(work, costs, stage)
          : work.kind == ExtraWork::Kind::kLayers ? layers_time(work, costs)
                                                  : 0;
  }
  return checked_ticks(static_cast<double>(one) * work.units, kWhat);
}

}  // namespace plumb
