#include "trainer/cuda/layers/make_cuda_layer.hpp"

#include <string>

#include "models/ground/error.hpp"
#include "models/network/layer_fields.hpp"
#include "models/network/layer_shape.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

std::string kind_text(LayerKind kind) { return std::string(layer_fields()[static_cast<std::size_t>(kind)].name); }

/// Throws for arithmetic that the CPU has and the kernels have not.
void refuse_unknown_arithmetic(const LayerSpec& spec) {
  const auto refuse = [&](const std::string& what) {
    throw Error("layer '" + spec.name + "': " + what + " on CUDA; expected the back end cpu");
  };
  const plumb::Activation usual = spec.gated ? plumb::Activation::kSilu : plumb::Activation::kGeluTanh;
  if (spec.kind == LayerKind::kMlp && activation_of(spec) != usual) {
    const auto name_of = [](plumb::Activation of) {
      return std::string(activation_names()[static_cast<std::size_t>(of)]);
    };
    refuse("activation " + name_of(activation_of(spec)) + " has no kernel, only " + name_of(usual) + " has one,");
  }
  if (spec.window > 0) refuse("a window of " + std::to_string(spec.window) + " tokens has no kernel");
  const bool by_channel = spec.kind == LayerKind::kBatchNorm || spec.kind == LayerKind::kGroupNorm;
  if (by_channel && spec.epsilon != kUsualEpsilon) refuse("norms of channels have epsilon 1e-5 only");
  if (!spec.costs_only.empty()) refuse("cannot be trained, only its costs are known: " + spec.costs_only);
}

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_cuda_layer(const LayerSpec& spec, const MicrobatchShape& shape) {
  using Make = std::unique_ptr<CudaLayer<T>> (*)(const LayerSpec&, const MicrobatchShape&);
  struct Row {
    LayerKind kind;
    Make make;
  };
  static constexpr Row kRows[]{
      {LayerKind::kEmbedding, make_embedding<T>},
      {LayerKind::kLayerNorm, make_norm<T>},
      {LayerKind::kRmsNorm, make_norm<T>},
      {LayerKind::kAttention, make_attention<T>},
      {LayerKind::kMlp, make_mlp<T>},
      {LayerKind::kLinear, make_linear<T>},
      {LayerKind::kHead, make_head<T>},
      {LayerKind::kValues, make_values<T>},
      {LayerKind::kSquaredError, make_squared_error<T>},
      {LayerKind::kPixels, make_pixels<T>},
      {LayerKind::kConvolution, make_convolution<T>},
      {LayerKind::kBatchNorm, make_channel_norm<T>},
      {LayerKind::kGroupNorm, make_channel_norm<T>},
      {LayerKind::kRelu, make_relu<T>},
      {LayerKind::kMaxPool, make_pool<T>},
      {LayerKind::kAveragePool, make_pool<T>},
      {LayerKind::kClassifier, make_head<T>},
      {LayerKind::kCrossProjection, make_cross_projection<T>},
      {LayerKind::kAttentionCore, make_attention_core<T>},
  };
  refuse_unknown_arithmetic(spec);
  if (spec.side_parameters > 0) throw Error("layer '" + spec.name + "': side parameters have no arithmetic on CUDA");
  std::string known;
  for (const Row& row : kRows) {
    if (row.kind == spec.kind) return row.make(spec, shape);
    known += (known.empty() ? "" : ", ") + kind_text(row.kind);
  }
  throw Error("layer '" + spec.name + "': " + kind_text(spec.kind) + " has no arithmetic on CUDA; expected one of " +
              known);
}

template std::unique_ptr<CudaLayer<float>> make_cuda_layer(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_cuda_layer(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
