#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// Which activations are kept from the forward to the backward, and which are computed again.
enum class ActivationRecompute : std::uint8_t {
  kNone,
  kSelective,  ///< scores and softmax of attention are computed again (Korthikanti et al. 2022)
  kFull,       ///< every layer keeps its input only and runs its forward again
  kFitted,     ///< the first layers of every stage do, as many as counts say; without counts a stage takes the time of
               ///< `kNone` and the memory of `kFull`, which no counts are better than
};

/// Parts of a layer that can run again in the backward instead of being kept (Megatron's --recompute-modules).
enum class RecomputeModule : std::uint8_t {
  kNorm,        ///< the output of the norm before attention and MLP
  kActivation,  ///< the output of the activation between the products of an MLP or an expert
  kMoe,         ///< a whole layer of experts, with its exchanges; its input is kept
  kMlaUpProj,   ///< latent attention: queries, keys and values made of the latents
};

inline constexpr std::size_t kRecomputeModuleCount = 4;
/// In the order of `RecomputeModule`.
inline constexpr std::array<std::string_view, kRecomputeModuleCount> kRecomputeModuleNames{"norm", "activation", "moe",
                                                                                           "mla_up_proj"};

/// A set of modules.
class RecomputeModules {
 public:
  bool has(RecomputeModule module) const { return (bits_ & bit(module)) != 0; }
  bool empty() const { return bits_ == 0; }
  void add(RecomputeModule module) { bits_ = static_cast<std::uint8_t>(bits_ | bit(module)); }

  friend bool operator==(const RecomputeModules&, const RecomputeModules&) = default;

 private:
  static std::uint8_t bit(RecomputeModule module) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(module));
  }

  std::uint8_t bits_ = 0;
};

/// What the layers of a job compute again.
struct LayerRecompute {
  ActivationRecompute all = ActivationRecompute::kNone;
  RecomputeModules modules{};
  std::vector<std::int32_t> by_stage{};  ///< number of the first layers of every stage, for `kFitted`

  friend bool operator==(const LayerRecompute&, const LayerRecompute&) = default;
};

/// "none", "selective", "full" or "fitted".
std::string_view recompute_word(ActivationRecompute recompute);

/// "none", "selective", "full", names of modules joined by '+' ("norm+activation"), or how many of the first layers of
/// every stage run again ("layers=3-1-0"); none for any other text.
std::optional<LayerRecompute> layer_recompute_of(std::string_view text);
std::string layer_recompute_text(const LayerRecompute& recompute);

}  // namespace plumb
