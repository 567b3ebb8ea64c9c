#include "models/jobs/layer_recompute.hpp"

#include <algorithm>

namespace plumb {
namespace {

constexpr std::array<std::string_view, 3> kPolicies{"none", "selective", "full"};

}  // namespace

std::optional<LayerRecompute> layer_recompute_of(std::string_view text) {
  LayerRecompute recompute;
  const auto policy = std::ranges::find(kPolicies, text);
  if (policy != kPolicies.end()) {
    recompute.all = static_cast<ActivationRecompute>(policy - kPolicies.begin());
    return recompute;
  }
  while (true) {
    const std::size_t end = std::min(text.find('+'), text.size());
    const auto name = std::ranges::find(kRecomputeModuleNames, text.substr(0, end));
    if (name == kRecomputeModuleNames.end()) return std::nullopt;
    recompute.modules.add(static_cast<RecomputeModule>(name - kRecomputeModuleNames.begin()));
    if (end == text.size()) return recompute;
    text.remove_prefix(end + 1);
  }
}

std::string layer_recompute_text(const LayerRecompute& recompute) {
  if (recompute.modules.empty()) return std::string(kPolicies[static_cast<std::size_t>(recompute.all)]);
  std::string text;
  for (std::size_t k = 0; k < kRecomputeModuleCount; ++k) {
    if (!recompute.modules.has(static_cast<RecomputeModule>(k))) continue;
    text += (text.empty() ? "" : "+") + std::string(kRecomputeModuleNames[k]);
  }
  return text;
}

}  // namespace plumb
