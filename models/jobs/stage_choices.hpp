#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace plumb {

/// What is chosen for every stage by itself. An empty list: as `Parallelism` says for all stages.
struct StageChoices {
  std::vector<std::int32_t> recomputed{};  ///< its first transformer layers, so many, run again in the backward
  std::vector<std::int32_t> sharded{};     ///< its first layers of the network, so many, are sharded as by ZeRO 3
  /// Number of 100 microbatches whose stash is on the host between forward and backward, by stage.
  std::vector<std::int32_t> offloaded{};
  /// Its place in the pipeline, where places have unlike tensor degrees (`Parallelism::tensor_by_place`).
  std::vector<std::int32_t> places{};

  friend bool operator==(const StageChoices&, const StageChoices&) = default;
};

/// "3-1-0".
inline std::string counts_text(const std::vector<std::int32_t>& counts) {
  std::string text;
  for (const std::int32_t count : counts) text += (text.empty() ? "" : "-") + std::to_string(count);
  return text;
}

/// Returns whether a stage has something of a choice.
inline bool chooses_some(const std::vector<std::int32_t>& counts) {
  return std::ranges::any_of(counts, [](std::int32_t count) { return count > 0; });
}

}  // namespace plumb
