#pragma once

#include <vector>

#include "models/import/config_reader.hpp"
#include "models/import/model_families.hpp"

namespace plumb {

/// What a configuration says of every layer: what stands in front of its MLP, and whether that is routed to experts.
struct LayerPattern {
  std::vector<Mixer> mixers;
  std::vector<bool> sparse;
};

LayerPattern layer_pattern(const ConfigReader& config, const ModelFamily& family);

}  // namespace plumb
