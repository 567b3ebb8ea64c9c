#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/layer_arithmetic.hpp"

namespace plumb {

enum class LayerKind : std::uint8_t {
  kEmbedding,  ///< rows of a table by token, optionally with positions
  kLayerNorm,
  kRmsNorm,
  kAttention,  ///< multi-head (or grouped-query) self-attention with its projections
  kMlp,        ///< an MLP with one hidden layer, gated or not
  kLinear,
  kResidual,         ///< shortcut(x) + body(x)
  kHead,             ///< language-model head with softmax cross-entropy; the last layer of a network
  kProfiled,         ///< times and sizes given, nothing to train
  kValues,           ///< real numbers of the data, a row each
  kSquaredError,     ///< half the squared distance to the data's target values; the last layer of a network
  kAdd,              ///< the sum of two values
  kPixels,           ///< the bytes of an image as numbers around 0
  kConvolution,      ///< over an image
  kBatchNorm,        ///< by channel, over all pixels of the microbatch
  kGroupNorm,        ///< by image and group of channels
  kRelu,             ///< max(x, 0)
  kMaxPool,          ///< largest of a window, by channel
  kAveragePool,      ///< mean of a window or the whole image, by channel
  kClassifier,       ///< classes with softmax cross-entropy, one per row; the last layer of a network
  kCrossProjection,  ///< queries of one value, keys and values of another
  kAttentionCore,    ///< attention of given queries, keys and values: no weights
  kMoe,              ///< a router and experts, of which each token goes through a few (costs only)
  kLatentAttention,  ///< queries, keys and values through narrow latent vectors (MLA, DeepSeek-V2; costs only)
  kMamba,         ///< a recurrence with a gate: Mamba-2, gated delta rule, lightning attention, or a short convolution
                  ///< alone (costs only)
  kFurtherToken,  ///< predicts one token more from the layers before it (DeepSeek-V3's MTP module; costs only)
};

/// Times and sizes of a layer that somebody measured.
struct ProfiledFigures {
  std::int64_t f_ns = 0;
  std::int64_t i_ns = 0;
  std::int64_t w_ns = 0;
  std::int64_t parameter_bytes = 0;
  std::int64_t output_bytes = 0;  ///< handed to the next layer, per microbatch
  std::int64_t kept_for_input_grad_bytes = 0;
  std::int64_t kept_for_weight_grad_bytes = 0;

  friend bool operator==(const ProfiledFigures&, const ProfiledFigures&) = default;
};

/// One layer of a network. A field that a kind does not use keeps its default; `network_from_json` refuses it
/// otherwise.
struct LayerSpec {
  LayerKind kind{};
  std::string name;             ///< unique in the network; default: kind and position
  std::int64_t width = 0;       ///< features per token at the input and, unless the kind says otherwise, the output
  std::int64_t outputs = 0;     ///< linear: features per token at the output
  std::int64_t heads = 0;       ///< attention
  std::int64_t kv_heads = 0;    ///< attention; 0: as many as heads
  std::int64_t hidden = 0;      ///< MLP: inner width; MoE: of one expert
  std::int64_t vocabulary = 0;  ///< embedding, head; classes of a classifier
  std::int64_t positions = 0;   ///< embedding: rows of the learned position table, 0: none
  std::int64_t height = 0;      ///< images: lines of the input
  std::int64_t columns = 0;     ///< pixels in a line of the input
  std::int64_t channels = 0;    ///< numbers per pixel of the input
  std::int64_t filters = 0;     ///< convolution: channels of the output
  std::int64_t kernel = 0;      ///< convolution, pools: side of the window; 0: the whole image (average pool)
  std::int64_t stride = 0;      ///< convolution, pools
  std::int64_t padding = 0;     ///< convolution, max pool: pixels added on every side, which count as 0 (or nothing)
  std::int64_t groups = 0;      ///< group norm; Mamba: heads of a group share what writes and reads the state
  std::int64_t experts = 0;     ///< MoE: routed experts, each an MLP of inner width `hidden`
  std::int64_t experts_per_token = 0;  ///< MoE: experts that a token goes through (top-k)
  std::int64_t shared_experts = 0;     ///< MoE: further experts that every token goes through
  std::int64_t shared_hidden = 0;      ///< MoE: inner width of all shared experts; 0: shared_experts times hidden
  std::int64_t latent_width = 0;       ///< MoE: features of a token on its way through the routed experts; 0: width
  std::int64_t state = 0;              ///< Mamba: numbers that a feature of a head remembers; 0: no recurrence
  std::int64_t gate_rank = 0;          ///< Mamba with the delta rule: its gates come through so many features; 0: none
  std::int64_t query_rank = 0;         ///< latent attention: width of the latent queries; 0: no latent
  std::int64_t key_rank = 0;           ///< latent attention: width of the latent keys and values
  std::int64_t head_width = 0;    ///< attention, Mamba: of a head, 0: width / heads; latent attention: of a query and
                                  ///< key without its rotary part
  std::int64_t rotary_width = 0;  ///< latent attention: rotary part of a query and key; keys share one
  std::int64_t value_width = 0;   ///< latent attention: of a head's value; attention: 0: as the head
  std::int64_t index_heads = 0;   ///< latent attention: heads of the indexer that chooses keys (DeepSeek-V3.2); 0: none
  std::int64_t index_width = 0;   ///< latent attention: of a head of the indexer
  std::int64_t index_keys = 0;    ///< latent attention: keys that the indexer leaves to a token
  std::int64_t side_parameters = 0;  ///< head: of small branches beside it (pooler, second classifier), no work
  bool causal = true;                ///< attention
  bool rotary = false;               ///< attention: rotary position embedding
  bool gated = false;                ///< MLP, MoE: the activation of one half times the other half; attention: what it
                                     ///< makes times the sigmoid of a product as wide (costs only)
  bool bias = true;                  ///< attention, MLP, MoE, linear, layer norm, convolution, classifier
  bool qkv_bias = false;             ///< attention without `bias`: queries, keys and values have one all the same
  bool head_norm = false;            ///< attention: an RMS norm of every head's query and key (costs only)
  bool whole_norm = false;           ///< attention: an RMS norm of all queries and one of all keys (costs only)
  bool sinks = false;                ///< attention: a number per head beside its scores (gpt-oss; costs only)
  bool router_bias = false;          ///< MoE: the router's product has a bias
  bool shared_gate = false;          ///< MoE: shared experts times the sigmoid of a product with one column
  bool delta = false;                ///< Mamba: the gated delta rule (Yang et al. 2024)
  bool fixed_decay = false;          ///< Mamba: a head forgets at a fixed rate (lightning attention)
  bool tied = false;                 ///< head: uses the last embedding's weight (without bias)
  bool target = false;               ///< embedding: reads the target tokens
  bool sinusoidal = false;           ///< embedding: fixed positions, rows scaled by sqrt(width) (Vaswani et al. 2017)
  bool padded = false;               ///< attention core: does not see the padding after the last token of a sample
  Activation activation = Activation::kUsual;  ///< MLP, MoE
  double epsilon = kUsualEpsilon;              ///< norms
  RotaryTurns turns{};                         ///< attention with `rotary`
  std::int64_t window = 0;   ///< causal attention: a token sees itself and the window - 1 before it; 0: all before it
  std::int64_t chunk = 0;    ///< causal attention: a token sees those before it in its own part of so many; 0: all
  bool frozen = false;       ///< no update changes its parameters, but for those of adapters
  Lora lora{};               ///< its adapters, where the kind has any (models/network/lora.hpp)
  std::string costs_only{};  ///< why it cannot be trained here, though its costs are known; empty: it can
  std::string input{};       ///< layer whose output is read; empty: the one before
  std::string from{};        ///< second input: of addition, cross projection, coupled residual
  std::vector<LayerSpec> body{};      ///< residual
  std::vector<LayerSpec> shortcut{};  ///< residual: what the input goes through before it is added; empty: nothing
  ProfiledFigures profiled{};

  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

/// A network is a list of layers, each reading the one before or one that it names. It may be cut between any two;
/// residual blocks hold their branches and are not cut inside (`opened` in models/network/flow.hpp writes them out).
struct Network {
  std::string name;
  std::string source;         ///< paper or origin of the figures
  std::int64_t sequence = 0;  ///< tokens per sample
  std::int64_t samples = 1;   ///< default samples per microbatch
  std::vector<LayerSpec> layers;

  friend bool operator==(const Network&, const Network&) = default;
};

/// Size of one microbatch, or of a sequence slice of one.
struct MicrobatchShape {
  std::int64_t samples = 1;
  std::int64_t sequence = 1;  ///< tokens per sample
  std::int64_t before = 0;    ///< tokens of every sample in the sequence slices before it
  std::int64_t after = 0;     ///< tokens of every sample in the sequence slices after it

  std::int64_t tokens() const { return samples * sequence; }
  friend bool operator==(const MicrobatchShape&, const MicrobatchShape&) = default;
};

/// Bytes of one number, by use.
struct Precision {
  std::int64_t activation_bytes = 4;
  std::int64_t weight_bytes = 4;
  std::int64_t gradient_bytes = 4;
  std::int64_t optimizer_bytes = 8;  ///< per parameter: master copy and moments

  friend bool operator==(const Precision&, const Precision&) = default;
};

/// bf16 compute, fp32 gradients, master weights and Adam moments: 18 bytes per parameter.
inline constexpr Precision kMixedPrecision{2, 2, 4, 12};

}  // namespace plumb
