#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/cluster/contention.hpp"
#include "sim/comparison/estimate.hpp"

namespace plumb {

struct ContentionFitOptions {
  std::int64_t first_update = 0;  ///< of every timeline; those before warm up
  std::int64_t least_alone = 3;   ///< times that an action of a stage must have been seen alone
  double least_exposure = 4;      ///< actions' worth of time that a point of a curve must have been met for
  double independent = 0.03;      ///< of a point's exposure, the least part that those of others do not explain
  std::int64_t resamples = 200;   ///< of the bootstrap
  std::uint64_t seed = 0;         ///< of its draws
};

/// One point of a curve.
struct FittedGamma {
  Load of{};
  Load by{};
  std::uint16_t others = 0;  ///< so many of `by` under way
  Estimate gamma;            ///< its interval over resampled updates
  double exposure = 0;       ///< actions' worth of time
};

/// What one message, or one collective, takes of a device.
struct FittedSlowdown {
  Load by{};
  Estimate share;
  double exposure = 0;  ///< actions' worth of time
};

/// A clock that falls linearly from full speed with `least` devices at work to 1 - fall with `most`, of all kinds
/// alike, and makes up for 63 % of a difference in the lag.
struct FittedClock {
  double least = 1;
  double most = 2;
  Estimate fall;
  Estimate lag_ns;
  bool counts = false;  ///< false: the fall is so small that there is none; `fall` says how large it may be at most
};

/// What an action takes alone.
struct AloneTime {
  DeviceId device{};
  StageId stage{};
  Load kind{};
  double median_ns = 0;
  std::int64_t count = 0;
};

struct ContentionFit {
  Contention contention;  ///< all of it, as a cluster has it
  std::vector<FittedGamma> gammas;
  std::vector<FittedSlowdown> slowdowns;  ///< by messages and collectives, where they were met
  std::optional<FittedClock> clock;       ///< where the runs tell of it
  std::vector<AloneTime> alone;
  std::vector<std::string> unknown;  ///< what the runs do not tell, one line each
  std::int64_t actions = 0;          ///< that were fitted
  std::int64_t left_out = 0;         ///< that met something unknown, or are never seen alone
  double error_alone = 0;            ///< median |error| of durations with the times alone, relative
  double error_fitted = 0;           ///< with the fit
};

}  // namespace plumb
