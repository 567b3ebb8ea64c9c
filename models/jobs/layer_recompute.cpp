#include "models/jobs/layer_recompute.hpp"

#include <algorithm>
#include <charconv>

namespace plumb {
namespace {

constexpr std::string_view kByStage = "layers=";

/// In the order of `ActivationRecompute`; the last is no text of its own.
constexpr std::array<std::string_view, 4> kPolicies{"none", "selective", "full", "fitted"};

/// "3-1-0".
std::optional<LayerRecompute> counts_of(std::string_view text) {
  LayerRecompute recompute{.all = ActivationRecompute::kFitted};
  while (true) {
    std::int32_t count = 0;
    const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (failed != std::errc{} || count < 0) return std::nullopt;
    recompute.by_stage.push_back(count);
    if (stop == text.data() + text.size()) return recompute;
    if (*stop != '-') return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
  }
}

}  // namespace

std::string_view recompute_word(ActivationRecompute recompute) {
  return kPolicies[static_cast<std::size_t>(recompute)];
}

std::optional<LayerRecompute> layer_recompute_of(std::string_view text) {
  if (text.starts_with(kByStage)) return counts_of(text.substr(kByStage.size()));
  LayerRecompute recompute;
  const auto policy = std::ranges::find(kPolicies, text);
  if (policy < kPolicies.end() - 1) {
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
  if (recompute.all == ActivationRecompute::kFitted) {
    std::string text;
    for (const std::int32_t count : recompute.by_stage) text += (text.empty() ? "" : "-") + std::to_string(count);
    return std::string(kByStage) + text;
  }
  if (recompute.modules.empty()) return std::string(recompute_word(recompute.all));
  std::string text;
  for (std::size_t k = 0; k < kRecomputeModuleCount; ++k) {
    if (!recompute.modules.has(static_cast<RecomputeModule>(k))) continue;
    text += (text.empty() ? "" : "+") + std::string(kRecomputeModuleNames[k]);
  }
  return text;
}

}  // namespace plumb
