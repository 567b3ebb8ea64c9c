#include "schedules/document/extra_work.hpp"

#include <cmath>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "models/costs/stage_costs.hpp"
#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// Products of two 64-bit numbers.
__extension__ using WideAmount = __int128;

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

Rational units_as_fraction(double units) {
  constexpr std::int64_t kMostDenominator = 1'000'000;
  constexpr double kMostWhole = 1e9;
  if (!(std::abs(units) < kMostWhole)) return {std::llround(units), 1};
  // Convergents of the continued fraction.
  std::int64_t n0 = 0;
  std::int64_t d0 = 1;
  std::int64_t n1 = 1;
  std::int64_t d1 = 0;
  for (double rest = units;;) {
    const double whole = std::floor(rest);
    if (std::abs(whole) > 1e15) break;
    const auto n2 = static_cast<WideAmount>(whole) * n1 + n0;
    const auto d2 = static_cast<WideAmount>(whole) * d1 + d0;
    if (d2 > kMostDenominator) break;
    n0 = std::exchange(n1, static_cast<std::int64_t>(n2));
    d0 = std::exchange(d1, static_cast<std::int64_t>(d2));
    if (static_cast<double>(n1) / static_cast<double>(d1) == units) return {n1, d1};
    rest = 1 / (rest - whole);
  }
  return {std::llround(units * static_cast<double>(kMostDenominator)), kMostDenominator};
}

Ticks extra_time(const ExtraWork& work, const StageCosts& costs, StageId stage) {
  constexpr std::string_view kWhat = "extra work";
  if (work.kind == ExtraWork::Kind::kTime) {
    checked_ticks(static_cast<double>(work.time_ns) * static_cast<double>(costs.base.ticks_per_ns), kWhat);
    return work.time_ns * costs.base.ticks_per_ns;
  }
  Ticks one = costs.times[index(stage)].x;
  if (costs.from_network) {
    one = work.kind == ExtraWork::Kind::kPass      ? pass_time(work, costs, stage)
          : work.kind == ExtraWork::Kind::kTeacher ? costs.times[index(stage)].f
          : work.kind == ExtraWork::Kind::kLayers  ? layers_time(work, costs)
                                                   : 0;
  }
  const Ticks nearest = checked_ticks(static_cast<double>(one) * work.units, kWhat);
  const Rational units = units_as_fraction(work.units);
  if (static_cast<double>(units.numerator) / static_cast<double>(units.denominator) != work.units) return nearest;
  const auto exact = static_cast<WideAmount>(one) * units.numerator;
  return exact % units.denominator == 0 ? static_cast<Ticks>(exact / units.denominator) : nearest;
}

}  // namespace plumb
