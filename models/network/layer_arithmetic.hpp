#pragma once

#include <cstdint>

namespace plumb {

/// The activation of an MLP.
enum class Activation : std::uint8_t {
  kUsual,     ///< kGeluTanh; kSilu when gated (SwiGLU)
  kGeluTanh,  ///< GELU in its tanh form (Hendrycks and Gimpel 2016; GPT-2's `gelu_new`)
  kGelu,      ///< x Phi(x), by the error function
  kRelu,
  kSilu,  ///< x / (1 + e^-x)
};

/// What every norm adds to the variance unless told otherwise.
inline constexpr double kUsualEpsilon = 1e-5;

/// How fast queries and keys turn by position (Su et al. 2021): number i of a head of width d turns with number i + d/2
/// by position * f(i), f(i) = base^(-2i/d), changed for long contexts:
///   original 0: f / factor                                              (linear)
///   otherwise, by the length l = 2 pi / f of a turn: f where l < original / high, f / factor where l > original / low,
///   ((1 - s) / factor + s) f between, s = (original / l - low) / (high - low)      (Llama 3.1)
struct RotaryTurns {
  double base = 10000;
  double factor = 1;
  double low = 1;
  double high = 4;
  double original = 0;  ///< tokens that the model was made for before; 0: linear

  friend bool operator==(const RotaryTurns&, const RotaryTurns&) = default;
};

/// Which products have low-rank adapters.
enum class LoraTargets : std::uint8_t {
  kQkv,  ///< products that make queries, keys and values
  kAll,  ///< all of attention, MLPs and linear layers, but not the head
};

/// Low-rank adapters (LoRA, Hu et al. 2021): beside y = x W^T + b, whose W and b stay as they are, alpha / rank times
/// (x A^T) B^T is added, with A (rank x inputs) and B (outputs x rank) trained. B begins as zeros.
struct Lora {
  std::int64_t rank = 0;  ///< 0: no adapters
  double alpha = 0;
  LoraTargets targets = LoraTargets::kQkv;

  friend bool operator==(const Lora&, const Lora&) = default;
};

}  // namespace plumb
