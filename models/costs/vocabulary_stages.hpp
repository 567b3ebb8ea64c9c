#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "models/ground/units.hpp"

namespace plumb {

/// Stages that hold equal shares of the vocabulary instead of layers: every device computes a part of the embedding
/// and of the head of every microbatch. The other stages, in ascending order, hold the layers between the two.
/// (Vocabulary parallelism: Yeung et al., arXiv 2411.05288)
struct VocabularyStages {
  std::vector<StageId> input;   ///< shares of the embedding
  std::vector<StageId> output;  ///< as many shares of the head; its stash is its part of the softmax
  std::optional<StageId> loss;  ///< puts the largest logits and the sums of all shares together; takes no time
  /// All devices compute a share of the head at once, as tensor ranks do: nothing hides its collectives.
  bool at_once = false;

  friend bool operator==(const VocabularyStages&, const VocabularyStages&) = default;

  /// Returns the stages of a schedule of `num_stages` that hold layers.
  std::int32_t num_layer_stages(std::int32_t num_stages) const {
    return num_stages - static_cast<std::int32_t>(input.size() + output.size()) - (loss ? 1 : 0);
  }
};

/// What a stage is, in the chain "a share of the embedding, the stages of the layers, a share of the head".
inline constexpr std::size_t kLossStage = std::numeric_limits<std::size_t>::max();

/// Returns the place in that chain of each stage of a schedule of `num_stages`; `kLossStage` for the loss.
inline std::vector<std::size_t> chain_places(const VocabularyStages& stages, std::int32_t num_stages) {
  const auto head = static_cast<std::size_t>(stages.num_layer_stages(num_stages)) + 1;
  std::vector<std::size_t> places(static_cast<std::size_t>(num_stages), head + 1);
  for (const StageId stage : stages.input) places[index(stage)] = 0;
  for (const StageId stage : stages.output) places[index(stage)] = head;
  if (stages.loss) places[index(*stages.loss)] = kLossStage;
  std::size_t layers = 0;
  for (std::size_t& place : places) {
    if (place == head + 1) place = ++layers;
  }
  return places;
}

}  // namespace plumb
