#pragma once

#include <cstdint>
#include <optional>

#include "trainer/run/translate.hpp"
#include "trainer/train.hpp"

namespace plumb {

/// What the final weights of a run are tried on; 0: nothing besides what `observation.evaluation` says.
struct FinalTrial {
  std::int64_t held_out = 0;    ///< held-out samples for the last evaluation
  std::int64_t translated = 0;  ///< held-out pairs to be translated word by word
};

/// A run, and how well its final weights translate where that was asked.
struct TriedRun {
  TrainResult result;
  std::optional<Translation> translation;
};

/// Trains; the last evaluation of the result is then on `trial.held_out` samples. Throws `Error` when fewer are held
/// out, and what training throws.
TriedRun train_and_try(TrainOptions options, const FinalTrial& trial);

}  // namespace plumb
