#pragma once

#include <cstdint>

namespace plumb {

/// How many of the first layers of a network are frozen after every epoch, and how long a pipeline still needs to be:
/// PipeTransformer (He et al. 2021), whose program cuts a transformer by the sizes of its parameters. Each epoch
/// freezes the share `alpha` of the layers that are left.
struct LayerFreezing {
  std::int32_t layers = 12;
  double alpha = 1.0 / 3;
  double width = 768;  ///< width of the transformer: its layers have 12 width^2 parameters, and biases and norms
  double embedding_millions = 0;  ///< parameters before the layers
  double head_millions = 0;       ///< and behind them

  /// ceil(layers (1 - (1 - alpha)^epochs)).
  std::int32_t frozen_after(std::int32_t epochs) const;

  /// `length`, halved (rounded down) as long as the largest stage of the layers that are left is no larger than the
  /// largest one was at first.
  std::int32_t pipeline_length(std::int32_t length, std::int32_t epochs) const;
};

}  // namespace plumb
