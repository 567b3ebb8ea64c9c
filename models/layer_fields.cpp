#include "models/layer_fields.hpp"

namespace plumb {
namespace {

using Default = LayerNumber::Default;

constexpr std::int64_t kMostWidth = std::int64_t{1} << 20;
constexpr std::int64_t kMostRows = std::int64_t{1} << 24;

constexpr LayerNumber kWidth{"width", &LayerSpec::width, 1, kMostWidth, Default::kNetwork};
constexpr LayerNumber kVocabulary{"vocabulary", &LayerSpec::vocabulary, 1, kMostRows, Default::kNetwork};
constexpr LayerSwitch kBias{"bias", &LayerSpec::bias};

constexpr std::array kEmbeddingNumbers{kVocabulary, kWidth,
                                       LayerNumber{"positions", &LayerSpec::positions, 0, kMostRows, Default::kZero}};
constexpr std::array kNormNumbers{kWidth};
constexpr std::array kNormSwitches{kBias};
constexpr std::array kAttentionNumbers{kWidth,
                                       LayerNumber{"heads", &LayerSpec::heads, 1, kMostWidth, Default::kRequired},
                                       LayerNumber{"kv_heads", &LayerSpec::kv_heads, 1, kMostWidth, Default::kZero}};
constexpr std::array kAttentionSwitches{LayerSwitch{"causal", &LayerSpec::causal},
                                        LayerSwitch{"rotary", &LayerSpec::rotary}, kBias};
constexpr std::array kMlpNumbers{kWidth,
                                 LayerNumber{"hidden", &LayerSpec::hidden, 1, 4 * kMostWidth, Default::kFourWidths}};
constexpr std::array kMlpSwitches{LayerSwitch{"gated", &LayerSpec::gated}, kBias};
constexpr std::array kLinearNumbers{kWidth,
                                    LayerNumber{"outputs", &LayerSpec::outputs, 1, kMostWidth, Default::kRequired}};
constexpr std::array kHeadNumbers{kWidth, kVocabulary};
constexpr std::array kHeadSwitches{LayerSwitch{"tied", &LayerSpec::tied}};

constexpr std::array kFields{
    LayerFields{LayerKind::kEmbedding, "embedding", kEmbeddingNumbers, {}},
    LayerFields{LayerKind::kLayerNorm, "layer_norm", kNormNumbers, kNormSwitches},
    LayerFields{LayerKind::kRmsNorm, "rms_norm", kNormNumbers, {}},
    LayerFields{LayerKind::kAttention, "attention", kAttentionNumbers, kAttentionSwitches},
    LayerFields{LayerKind::kMlp, "mlp", kMlpNumbers, kMlpSwitches},
    LayerFields{LayerKind::kLinear, "linear", kLinearNumbers, kNormSwitches},
    LayerFields{LayerKind::kResidual, "residual", {}, {}},
    LayerFields{LayerKind::kHead, "head", kHeadNumbers, kHeadSwitches},
    LayerFields{LayerKind::kProfiled, "profiled", {}, {}},
    LayerFields{LayerKind::kValues, "values", kNormNumbers, {}},
    LayerFields{LayerKind::kSquaredError, "squared_error", kNormNumbers, {}},
    LayerFields{LayerKind::kAdd, "add", kNormNumbers, {}},
};

}  // namespace

std::span<const LayerFields> layer_fields() { return kFields; }

}  // namespace plumb
