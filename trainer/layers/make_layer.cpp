#include "trainer/layers/make_layer.hpp"

#include <array>

#include "models/ground/error.hpp"
#include "models/network/layer_shape.hpp"
#include "trainer/layers/kinds.hpp"

namespace plumb {

template <class T>
std::unique_ptr<Layer<T>> make_layer(const LayerSpec& spec, const MicrobatchShape& shape) {
  using Make = std::unique_ptr<Layer<T>> (*)(const LayerSpec&, const MicrobatchShape&);
  // In the order of LayerKind.
  static constexpr std::array<Make, 26> kMake{make_embedding<T>,
                                              make_layer_norm<T>,
                                              make_rms_norm<T>,
                                              make_attention<T>,
                                              make_mlp<T>,
                                              make_linear<T>,
                                              nullptr,
                                              make_head<T>,
                                              nullptr,
                                              make_values<T>,
                                              make_squared_error<T>,
                                              nullptr,
                                              make_pixels<T>,
                                              make_convolution<T>,
                                              make_batch_norm<T>,
                                              make_group_norm<T>,
                                              make_relu<T>,
                                              make_max_pool<T>,
                                              make_average_pool<T>,
                                              make_classifier<T>,
                                              make_cross_projection<T>,
                                              make_attention_core<T>,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              nullptr};
  if (!spec.costs_only.empty()) {
    throw Error("layer '" + spec.name + "': cannot be trained, only its costs are known: " + spec.costs_only);
  }
  if (spec.kind >= LayerKind::kMoe || spec.side_parameters > 0) {
    throw Error("layer '" + spec.name + "': cannot be trained; experts, latent attention, Mamba, further tokens and " +
                "side parameters have costs, but no arithmetic");
  }
  const auto is_plain = [&] {
    const bool filled = queries_width(spec) == spec.width && attended_width(spec) == spec.width;
    return filled && !spec.head_norm && !spec.whole_norm && !spec.sinks && !spec.gated && spec.chunk == 0;
  };
  if (spec.kind == LayerKind::kAttention && !is_plain()) {
    throw Error("layer '" + spec.name + "': cannot be trained; heads that do not fill the width, norms of heads, " +
                "sinks, gates and parts of a sequence have costs, but no arithmetic");
  }
  if (const Make make = kMake.at(static_cast<std::size_t>(spec.kind)); make != nullptr) return make(spec, shape);
  throw Error("layer '" + spec.name + "': cannot be trained; a profiled layer has times, but no arithmetic");
}

template std::unique_ptr<Layer<float>> make_layer(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_layer(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
