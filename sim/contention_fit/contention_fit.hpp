#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/cluster/contention.hpp"
#include "sim/comparison/estimate.hpp"

namespace plumb {

struct ContentionFitOptions {
  std::int64_t first_update = 0;  ///< first update of every timeline that counts; earlier ones are warm-up
  std::int64_t least_alone = 3;   ///< how often an action of a stage must have run alone at least
  double least_exposure = 4;      ///< how long a point of a curve must have applied, in times of an action alone
  double independent = 0.03;      ///< least share of a point's exposure that the other points' do not explain
  std::int64_t resamples = 200;   ///< number of bootstrap resamples
  std::uint64_t seed = 0;         ///< seed of the bootstrap
};

/// One point of a curve.
struct FittedGamma {
  Load of{};
  Load by{};
  std::uint16_t others = 0;  ///< number of actions of kind `by` under way
  Estimate gamma;            ///< with its interval over resampled updates
  double exposure = 0;       ///< how long it applied, in times of an action alone
};

/// The share of a device that one message, or one collective, occupies.
struct FittedSlowdown {
  Load by{};
  Estimate share;
  double exposure = 0;  ///< as in `FittedGamma`
};

/// A clock whose target falls linearly from full speed with `least` devices at work to 1 - fall with `most`, whatever
/// they compute. The lag is its time constant: the clock closes 1 - 1/e of the gap to its target in this time.
struct FittedClock {
  double least = 1;
  double most = 2;
  Estimate fall;
  Estimate lag_ns;
  bool counts = false;  ///< false: no clock is assumed, and `fall` is at most so large
};

/// How long an action takes alone.
struct AloneTime {
  DeviceId device{};
  StageId stage{};
  Load kind{};
  double median_ns = 0;
  std::int64_t count = 0;
};

struct ContentionFit {
  Contention contention;  ///< the whole result, as a cluster holds it
  std::vector<FittedGamma> gammas;
  std::vector<FittedSlowdown> slowdowns;  ///< by messages and by collectives, where there were any
  std::optional<FittedClock> clock;       ///< where the runs determine it
  std::vector<AloneTime> alone;
  std::vector<std::string> unknown;  ///< what the runs do not determine, one line each
  std::int64_t actions = 0;          ///< number of actions fitted
  std::int64_t left_out = 0;         ///< number of actions that overlapped with something unknown, or never run alone
  double error_alone = 0;            ///< median relative |error| of durations predicted by the times alone
  double error_fitted = 0;           ///< error as predicted by the fit
};

}  // namespace plumb
