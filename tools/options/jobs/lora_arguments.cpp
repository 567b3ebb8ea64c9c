#include "tools/options/jobs/lora_arguments.hpp"

#include <array>

#include "models/ground/error.hpp"
#include "tools/options/choice.hpp"

namespace plumb {
namespace {

/// In the order of `LoraTargets`.
constexpr std::array<std::string_view, 2> kLoraTargetNames{"qkv", "all"};

}  // namespace

void LoraArguments::add_to(OptionTable& parser) {
  parser
      .whole("lora-rank", rank, {},
             "freeze all weights and train low-rank adapters (LoRA) of this rank beside them (default: train weights)")
      .text(
          "lora-targets", targets, "WHICH",
          "what has adapters: qkv (products that make queries, keys and values), all (all products of attention, MLPs "
          "and linear layers) (default: qkv)")
      .words(kLoraTargetNames);
}

void LoraArguments::add_alpha_to(OptionTable& parser) {
  parser.real("lora-alpha", alpha, {0}, "what adapters add counts alpha / rank times (default: twice the rank)");
}

Lora LoraArguments::adapters() const {
  if (!rank) {
    if (any()) throw Error("--lora-alpha, --lora-targets: the rank is missing, expected --lora-rank R with them");
    return {};
  }
  if (alpha && *alpha == 0) throw Error("--lora-alpha: expected a number above 0");
  Lora lora{.rank = *rank, .alpha = alpha.value_or(2.0 * static_cast<double>(*rank))};
  if (!targets.empty()) lora.targets = enumerator<LoraTargets>(kLoraTargetNames, "targets of adapters", targets);
  return lora;
}

}  // namespace plumb
