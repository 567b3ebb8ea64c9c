#include "models/network.hpp"

namespace plumb {

bool reads_data(const LayerSpec& layer) { return begins_network(layer.kind) || ends_network(layer.kind); }

std::int64_t input_width(const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::kProfiled:
      return 0;
    case LayerKind::kResidual:
      return input_width(layer.body.front());
    default:
      return begins_network(layer.kind) ? 0 : layer.width;
  }
}

std::int64_t output_width(const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::kProfiled:
      return 0;
    case LayerKind::kLinear:
      return layer.outputs;
    case LayerKind::kResidual:
      return output_width(layer.body.back());
    default:
      return ends_network(layer.kind) ? 0 : layer.width;
  }
}

}  // namespace plumb
