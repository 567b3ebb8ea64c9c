#include "models/stages/whole_layers.hpp"

#include <algorithm>
#include <numeric>

namespace plumb {
namespace {

bool is_mixer(LayerKind kind) {
  return kind == LayerKind::kAttention || kind == LayerKind::kLatentAttention || kind == LayerKind::kMamba;
}

bool has_inside(const LayerSpec& block, bool (*is_kind)(LayerKind)) {
  return block.kind == LayerKind::kResidual &&
         std::ranges::any_of(block.body, [&](const LayerSpec& layer) { return is_kind(layer.kind); });
}

/// A mixer without a norm of its own stands beside the one before it, in the same decoder layer.
bool begins_decoder(const LayerSpec& block) {
  return has_inside(block, is_mixer) && !(block.body.size() == 1 && block.body.front().kind == LayerKind::kMamba);
}

/// Returns whether every block is a decoder layer by itself, as in patterns of Mamba layers, where two mixers or two
/// others follow each other.
bool is_pattern(const Network& network) {
  bool mamba = false;
  bool unpaired = false;
  const LayerSpec* before = nullptr;
  for (const LayerSpec& layer : network.layers) {
    if (layer.kind != LayerKind::kResidual) continue;
    mamba = mamba || has_inside(layer, [](LayerKind kind) { return kind == LayerKind::kMamba; });
    const bool mixes = has_inside(layer, is_mixer);
    const bool follows = before != nullptr && (begins_decoder(layer) || !mixes);
    unpaired = unpaired || (follows && has_inside(*before, is_mixer) == mixes);
    before = &layer;
  }
  return mamba && unpaired;
}

/// First layers of the blocks that count as decoder layers.
std::vector<std::size_t> decoder_begins(const Network& network) {
  const bool pattern = is_pattern(network);
  std::vector<std::size_t> begins;
  for (std::size_t k = 0; k < network.layers.size(); ++k) {
    const LayerSpec& layer = network.layers[k];
    if (pattern ? layer.kind == LayerKind::kResidual : begins_decoder(layer)) begins.push_back(k);
  }
  return begins;
}

/// Returns the end of the last decoder layer, which has as many layers as the one before it.
std::size_t decoder_end(const Network& network, const std::vector<std::size_t>& begins) {
  const std::size_t last = begins.back();
  if (begins.size() > 1) return std::min(network.layers.size(), last + (last - begins[begins.size() - 2]));
  const auto block = [](const LayerSpec& layer) { return layer.kind == LayerKind::kResidual; };
  const auto begin = network.layers.begin() + static_cast<std::ptrdiff_t>(last);
  return static_cast<std::size_t>(std::find_if_not(begin, network.layers.end(), block) - network.layers.begin());
}

}  // namespace

std::vector<std::size_t> whole_layers(const Network& network) {
  std::vector<std::size_t> bounds = decoder_begins(network);
  if (bounds.empty()) {
    bounds.resize(network.layers.size() + 1);
    std::iota(bounds.begin(), bounds.end(), std::size_t{0});
    return bounds;
  }
  const std::size_t end = decoder_end(network, bounds);
  if (bounds.front() != 0) bounds.insert(bounds.begin(), 0);
  if (end < network.layers.size()) bounds.push_back(end);
  bounds.push_back(network.layers.size());
  return bounds;
}

std::size_t decoder_count(const Network& network) { return decoder_begins(network).size(); }

Network without_first_decoders(Network network, std::size_t count) {
  const std::vector<std::size_t> begins = decoder_begins(network);
  const auto at = [&](std::size_t layer) { return network.layers.begin() + static_cast<std::ptrdiff_t>(layer); };
  network.layers.erase(at(begins.front()), at(begins[count]));
  return network;
}

std::vector<LayerCounts> layer_counts(const Network& network, const Partition& partition) {
  const std::vector<std::size_t> decoders = decoder_begins(network);
  if (decoders.empty()) return {};
  const std::vector<std::size_t> whole = whole_layers(network);
  const std::size_t end = decoder_end(network, decoders);
  std::vector<LayerCounts> counts;
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    const LayerRange range = partition.range(s);
    if (!std::ranges::binary_search(whole, range.begin)) return {};
    const auto inside = [&](std::size_t begin) { return range.begin <= begin && begin < range.end; };
    counts.push_back(
        {.embedding =
             range
                 .begin<decoders.front(), .decoders = static_cast<std::size_t>(std::ranges::count_if(decoders, inside)),
                        .head = range.end>
                     end});
  }
  return counts;
}

}  // namespace plumb
