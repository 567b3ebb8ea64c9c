#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// What stands in front of a layer's MLP.
enum class Mixer : std::uint8_t {
  kFull,         ///< attention to all tokens before
  kSliding,      ///< attention with a window
  kChunked,      ///< attention inside of parts of the sequence
  kDelta,        ///< the gated delta rule
  kKeyDelta,     ///< the gated delta rule that forgets by number of a key (Kimi Linear)
  kLightning,    ///< linear attention with fixed decay
  kMamba,        ///< Mamba-2
  kConvolution,  ///< a short convolution
  kBoth,         ///< attention and Mamba-2 side by side
};

/// Where a block's norms stand: before its layer, behind it, both, or before attention and MLP that read the same.
enum class NormPlace : std::uint8_t { kBefore, kAfter, kAround, kBeside };
enum class HeadNorms : std::uint8_t { kNone, kHeads, kWhole };
enum class Positions : std::uint8_t { kRotary, kLearned, kNone };
/// Which layers have sliding windows where `layer_types` does not say it: those of a pattern, all (Mistral), those that
/// `use_sliding_window` says (Qwen2).
enum class Windows : std::uint8_t { kPattern, kAll, kOptional };

/// A `model_type` of Hugging Face: what its class of transformers does that its file does not say.
struct ModelFamily {
  std::string_view type;
  std::string_view defaults = "{}";  ///< values of the class for keys that files leave out, as JSON
  bool trained = false;              ///< our layers compute what its class computes
  bool layer_norm = false;           ///< layer norms, not RMS norms
  bool norm_bias = true;             ///< layer norms have a bias
  bool one_norm = false;             ///< attention and MLP side by side read the same norm
  bool latent = false;               ///< latent attention
  bool experts = false;              ///< some or all MLPs are routed
  bool gated = true;                 ///< MLPs and experts are gated
  bool four_widths = false;          ///< MLPs are four widths wide where the file does not say it
  bool mlps = true;                  ///< every layer has an MLP
  bool qkv_bias = false;             ///< queries, keys and values have biases whatever the file says
  bool qkv_only = false;             ///< `attention_bias` is about queries, keys and values
  bool gate = false;                 ///< attention has an output gate
  bool sinks = false;                ///< attention has sinks
  bool bare_full = false;            ///< beside layers with windows, those that see all have no positions
  bool router_bias = false;
  bool expert_bias = false;
  bool shared_gate = false;  ///< shared experts have a gate
  bool head_bias = false;    ///< the head has a bias
  bool embedding_norm = false;
  NormPlace norms = NormPlace::kBefore;
  HeadNorms head_norms = HeadNorms::kNone;
  Positions positions = Positions::kRotary;
  Windows windows = Windows::kPattern;
  Mixer linear = Mixer::kDelta;  ///< what "linear_attention" is
};

/// Returns the family of a `model_type`; null: not known.
const ModelFamily* find_model_family(std::string_view type);
/// Returns all types that become networks.
std::vector<std::string_view> model_family_types();
/// Returns the layer for which a known type does not become a network; empty: none.
std::string unpriced_layer(std::string_view type);

}  // namespace plumb
