#include "models/network/layer_fields.hpp"

namespace plumb {
namespace {

using Default = LayerNumber::Default;

constexpr std::int64_t kMostWidth = std::int64_t{1} << 20;
constexpr std::int64_t kMostRows = std::int64_t{1} << 24;

constexpr LayerNumber kWidth{"width", &LayerSpec::width, 1, kMostWidth, Default::kNetwork};
constexpr LayerNumber kVocabulary{"vocabulary", &LayerSpec::vocabulary, 1, kMostRows, Default::kNetwork};
constexpr LayerSwitch kBias{"bias", &LayerSpec::bias};

template <auto kMember>
double member(const LayerSpec& spec) {
  return spec.*kMember;
}
template <auto kMember>
void set_member(LayerSpec& spec, double value) {
  spec.*kMember = value;
}
template <auto kMember>
double turns_member(const LayerSpec& spec) {
  return spec.turns.*kMember;
}
template <auto kMember>
void set_turns_member(LayerSpec& spec, double value) {
  spec.turns.*kMember = value;
}

constexpr std::array kEpsilon{LayerReal{"epsilon", member<&LayerSpec::epsilon>, set_member<&LayerSpec::epsilon>, 0, 1}};
template <double RotaryTurns::*kMember>
constexpr LayerReal turns_real(std::string_view key, double least) {
  return {key, turns_member<kMember>, set_turns_member<kMember>, least, 1e12};
}
constexpr std::array kRotaryReals{
    turns_real<&RotaryTurns::base>("rotary_base", 1e-6), turns_real<&RotaryTurns::factor>("rotary_factor", 1e-6),
    turns_real<&RotaryTurns::low>("rotary_low", 1e-6), turns_real<&RotaryTurns::high>("rotary_high", 1e-6),
    turns_real<&RotaryTurns::original>("rotary_original", 0)};

constexpr std::array kEmbeddingNumbers{kVocabulary, kWidth,
                                       LayerNumber{"positions", &LayerSpec::positions, 0, kMostRows, Default::kZero}};
constexpr std::array kNormNumbers{kWidth};
constexpr std::array kNormSwitches{kBias};
constexpr std::array kAttentionNumbers{
    kWidth,
    LayerNumber{"heads", &LayerSpec::heads, 1, kMostWidth, Default::kRequired},
    LayerNumber{"kv_heads", &LayerSpec::kv_heads, 1, kMostWidth, Default::kZero},
    LayerNumber{"head_width", &LayerSpec::head_width, 1, kMostWidth, Default::kZero},
    LayerNumber{"value_width", &LayerSpec::value_width, 1, kMostWidth, Default::kZero},
    LayerNumber{"window", &LayerSpec::window, 0, kMostRows, Default::kZero},
    LayerNumber{"chunk", &LayerSpec::chunk, 0, kMostRows, Default::kZero}};
constexpr std::array kAttentionSwitches{LayerSwitch{"causal", &LayerSpec::causal},
                                        LayerSwitch{"rotary", &LayerSpec::rotary},
                                        kBias,
                                        LayerSwitch{"qkv_bias", &LayerSpec::qkv_bias},
                                        LayerSwitch{"head_norm", &LayerSpec::head_norm},
                                        LayerSwitch{"whole_norm", &LayerSpec::whole_norm},
                                        LayerSwitch{"sinks", &LayerSpec::sinks},
                                        LayerSwitch{"gated", &LayerSpec::gated}};
constexpr std::array kMlpNumbers{kWidth,
                                 LayerNumber{"hidden", &LayerSpec::hidden, 1, 4 * kMostWidth, Default::kFourWidths}};
constexpr std::array kMlpSwitches{LayerSwitch{"gated", &LayerSpec::gated}, kBias};
constexpr std::array kLinearNumbers{kWidth,
                                    LayerNumber{"outputs", &LayerSpec::outputs, 1, kMostWidth, Default::kRequired}};
constexpr std::array kHeadNumbers{
    kWidth, kVocabulary,
    LayerNumber{"side_parameters", &LayerSpec::side_parameters, 0, std::int64_t{1} << 40, Default::kZero}};
constexpr std::array kHeadSwitches{LayerSwitch{"tied", &LayerSpec::tied}};

constexpr std::int64_t kMostSide = 1 << 14;
constexpr std::int64_t kMostKernel = 15;  // a byte numbers the pixels of a window

constexpr LayerNumber kWidthBefore{"width", &LayerSpec::width, 1, kMostSide* kMostSide * 64, Default::kBefore};
constexpr LayerNumber kHeight{"height", &LayerSpec::height, 1, kMostSide, Default::kBefore};
constexpr LayerNumber kColumns{"columns", &LayerSpec::columns, 1, kMostSide, Default::kBefore};
constexpr LayerNumber kChannels{"channels", &LayerSpec::channels, 1, kMostWidth, Default::kBefore};
constexpr LayerNumber kHeads{"heads", &LayerSpec::heads, 1, kMostWidth, Default::kRequired};

constexpr std::array kAddNumbers{kWidthBefore};
constexpr std::array kPixelsNumbers{LayerNumber{"height", &LayerSpec::height, 1, kMostSide, Default::kRequired},
                                    LayerNumber{"columns", &LayerSpec::columns, 1, kMostSide, Default::kRequired},
                                    LayerNumber{"channels", &LayerSpec::channels, 1, 64, Default::kRequired}};
constexpr std::array kConvolutionNumbers{
    kHeight,
    kColumns,
    kChannels,
    LayerNumber{"filters", &LayerSpec::filters, 1, kMostWidth, Default::kRequired},
    LayerNumber{"kernel", &LayerSpec::kernel, 1, kMostKernel, Default::kRequired},
    LayerNumber{"stride", &LayerSpec::stride, 1, kMostKernel, Default::kOne},
    LayerNumber{"padding", &LayerSpec::padding, 0, kMostKernel, Default::kHalfKernel}};
constexpr std::array kImageNumbers{kHeight, kColumns, kChannels};
constexpr std::array kGroupNormNumbers{kHeight, kColumns, kChannels,
                                       LayerNumber{"groups", &LayerSpec::groups, 1, kMostWidth, Default::kRequired}};
constexpr std::array kMaxPoolNumbers{kHeight,
                                     kColumns,
                                     kChannels,
                                     LayerNumber{"kernel", &LayerSpec::kernel, 1, kMostKernel, Default::kRequired},
                                     LayerNumber{"stride", &LayerSpec::stride, 1, kMostKernel, Default::kKernel},
                                     LayerNumber{"padding", &LayerSpec::padding, 0, kMostKernel, Default::kZero}};
constexpr std::array kAveragePoolNumbers{kHeight, kColumns, kChannels,
                                         LayerNumber{"kernel", &LayerSpec::kernel, 1, kMostKernel, Default::kZero},
                                         LayerNumber{"stride", &LayerSpec::stride, 1, kMostKernel, Default::kKernel}};
constexpr std::array kClassifierNumbers{
    kWidthBefore, LayerNumber{"classes", &LayerSpec::vocabulary, 1, kMostRows, Default::kNetwork}};
constexpr std::array kCoreNumbers{kWidth, kHeads,
                                  LayerNumber{"kv_heads", &LayerSpec::kv_heads, 1, kMostWidth, Default::kZero}};
constexpr std::array kCoreSwitches{LayerSwitch{"causal", &LayerSpec::causal},
                                   LayerSwitch{"padded", &LayerSpec::padded}};
constexpr std::array kEmbeddingSwitches{LayerSwitch{"target", &LayerSpec::target},
                                        LayerSwitch{"sinusoidal", &LayerSpec::sinusoidal}};

constexpr std::array<std::string_view, 5> kActivations{"", "gelu_tanh", "gelu", "relu", "silu"};

constexpr std::int64_t kMostExperts = 1 << 16;

constexpr std::array kMoeNumbers{
    kWidth,
    LayerNumber{"hidden", &LayerSpec::hidden, 1, 4 * kMostWidth, Default::kRequired},
    LayerNumber{"experts", &LayerSpec::experts, 1, kMostExperts, Default::kRequired},
    LayerNumber{"experts_per_token", &LayerSpec::experts_per_token, 1, kMostExperts, Default::kRequired},
    LayerNumber{"shared_experts", &LayerSpec::shared_experts, 0, kMostExperts, Default::kZero},
    LayerNumber{"shared_hidden", &LayerSpec::shared_hidden, 0, 4 * kMostWidth, Default::kZero},
    LayerNumber{"latent_width", &LayerSpec::latent_width, 0, kMostWidth, Default::kZero}};
constexpr std::array kMoeSwitches{LayerSwitch{"gated", &LayerSpec::gated}, kBias,
                                  LayerSwitch{"router_bias", &LayerSpec::router_bias},
                                  LayerSwitch{"shared_gate", &LayerSpec::shared_gate}};
constexpr std::array kMambaNumbers{kWidth,
                                   kHeads,
                                   LayerNumber{"head_width", &LayerSpec::head_width, 1, kMostWidth, Default::kRequired},
                                   LayerNumber{"state", &LayerSpec::state, 0, kMostWidth, Default::kRequired},
                                   LayerNumber{"groups", &LayerSpec::groups, 1, kMostWidth, Default::kOne},
                                   LayerNumber{"kernel", &LayerSpec::kernel, 0, kMostKernel, Default::kRequired},
                                   LayerNumber{"gate_rank", &LayerSpec::gate_rank, 0, kMostWidth, Default::kZero}};
constexpr std::array kMambaSwitches{LayerSwitch{"delta", &LayerSpec::delta},
                                    LayerSwitch{"fixed_decay", &LayerSpec::fixed_decay}};
constexpr std::array kFurtherTokenNumbers{kWidth, kVocabulary};
constexpr std::array kLatentNumbers{
    kWidth,
    kHeads,
    LayerNumber{"query_rank", &LayerSpec::query_rank, 0, kMostWidth, Default::kZero},
    LayerNumber{"key_rank", &LayerSpec::key_rank, 1, kMostWidth, Default::kRequired},
    LayerNumber{"head_width", &LayerSpec::head_width, 1, kMostWidth, Default::kRequired},
    LayerNumber{"rotary_width", &LayerSpec::rotary_width, 0, kMostWidth, Default::kZero},
    LayerNumber{"value_width", &LayerSpec::value_width, 1, kMostWidth, Default::kRequired},
    LayerNumber{"index_heads", &LayerSpec::index_heads, 0, kMostWidth, Default::kZero},
    LayerNumber{"index_width", &LayerSpec::index_width, 0, kMostWidth, Default::kZero},
    LayerNumber{"index_keys", &LayerSpec::index_keys, 0, kMostRows, Default::kZero}};
constexpr std::array kLatentSwitches{LayerSwitch{"causal", &LayerSpec::causal}};

constexpr std::array kFields{
    LayerFields{LayerKind::kEmbedding, "embedding", kEmbeddingNumbers, kEmbeddingSwitches},
    LayerFields{LayerKind::kLayerNorm, "layer_norm", kNormNumbers, kNormSwitches, kEpsilon},
    LayerFields{LayerKind::kRmsNorm, "rms_norm", kNormNumbers, {}, kEpsilon},
    LayerFields{LayerKind::kAttention, "attention", kAttentionNumbers, kAttentionSwitches, kRotaryReals},
    LayerFields{LayerKind::kMlp, "mlp", kMlpNumbers, kMlpSwitches},
    LayerFields{LayerKind::kLinear, "linear", kLinearNumbers, kNormSwitches},
    LayerFields{LayerKind::kResidual, "residual", {}, {}},
    LayerFields{LayerKind::kHead, "head", kHeadNumbers, kHeadSwitches},
    LayerFields{LayerKind::kProfiled, "profiled", {}, {}},
    LayerFields{LayerKind::kValues, "values", kNormNumbers, {}},
    LayerFields{LayerKind::kSquaredError, "squared_error", kNormNumbers, {}},
    LayerFields{LayerKind::kAdd, "add", kAddNumbers, {}},
    LayerFields{LayerKind::kPixels, "pixels", kPixelsNumbers, {}},
    LayerFields{LayerKind::kConvolution, "convolution", kConvolutionNumbers, kNormSwitches},
    LayerFields{LayerKind::kBatchNorm, "batch_norm", kImageNumbers, {}, kEpsilon},
    LayerFields{LayerKind::kGroupNorm, "group_norm", kGroupNormNumbers, {}, kEpsilon},
    LayerFields{LayerKind::kRelu, "relu", kAddNumbers, {}},
    LayerFields{LayerKind::kMaxPool, "max_pool", kMaxPoolNumbers, {}},
    LayerFields{LayerKind::kAveragePool, "average_pool", kAveragePoolNumbers, {}},
    LayerFields{LayerKind::kClassifier, "classifier", kClassifierNumbers, kNormSwitches},
    LayerFields{LayerKind::kCrossProjection, "cross_projection", kNormNumbers, kNormSwitches},
    LayerFields{LayerKind::kAttentionCore, "attention_core", kCoreNumbers, kCoreSwitches},
    LayerFields{LayerKind::kMoe, "moe", kMoeNumbers, kMoeSwitches},
    LayerFields{LayerKind::kLatentAttention, "latent_attention", kLatentNumbers, kLatentSwitches},
    LayerFields{LayerKind::kMamba, "mamba", kMambaNumbers, kMambaSwitches},
    LayerFields{LayerKind::kFurtherToken, "further_token", kFurtherTokenNumbers, {}},
};

}  // namespace

std::span<const LayerFields> layer_fields() { return kFields; }

std::span<const std::string_view> activation_names() { return kActivations; }

}  // namespace plumb
