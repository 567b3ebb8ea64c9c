#pragma once

#include "trainer/methods/correction.hpp"

namespace plumb {

/// Which corrections of Adam's moments a prediction uses.
enum class MomentScale : std::uint8_t {
  kPowers,     ///< 1 - beta^t, as the optimizer
  kConstants,  ///< 1 - beta (XPipe)
};

/// Computes where the weights would be after `steps` more of the optimizer's last steps: w - rate steps v (SGD with
/// momentum), w - rate steps m / (sqrt(s) + epsilon), with corrected moments (Adam, AdamW; without decay). Written to
/// `to`.
void predict(std::byte* to, double steps, const CorrectedHolder& holder, const OptimizerOptions& optimizer,
             MomentScale scale = MomentScale::kPowers);

/// Throws `Error` when the optimizer keeps no direction to predict from.
void expect_direction(const CorrectionFacts& facts);

}  // namespace plumb
