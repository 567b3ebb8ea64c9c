#include "trainer/layer.hpp"

#include "models/error.hpp"
#include "trainer/layers/kinds.hpp"

namespace plumb {

template <class T>
std::unique_ptr<Layer<T>> make_layer(const LayerSpec& spec, const MicrobatchShape& shape) {
  switch (spec.kind) {
    case LayerKind::kEmbedding:
      return make_embedding<T>(spec, shape);
    case LayerKind::kLayerNorm:
      return make_layer_norm<T>(spec, shape);
    case LayerKind::kRmsNorm:
      return make_rms_norm<T>(spec, shape);
    case LayerKind::kAttention:
      return make_attention<T>(spec, shape);
    case LayerKind::kMlp:
      return make_mlp<T>(spec, shape);
    case LayerKind::kLinear:
      return make_linear<T>(spec, shape);
    case LayerKind::kHead:
      return make_head<T>(spec, shape);
    case LayerKind::kValues:
      return make_values<T>(spec, shape);
    case LayerKind::kSquaredError:
      return make_squared_error<T>(spec, shape);
    case LayerKind::kResidual:
    case LayerKind::kAdd:
    case LayerKind::kProfiled:
      break;
  }
  throw Error("layer '" + spec.name + "': cannot be trained; a profiled layer has times, but no arithmetic");
}

template std::unique_ptr<Layer<float>> make_layer(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_layer(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
