#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "models/ground/json_reader.hpp"
#include "models/jobs/parallelism.hpp"
#include "tools/measured_steps/measured_step.hpp"

namespace plumb {

/// What the source of a table of measured steps is known to have run, beside what its columns say. Empty: nothing.
struct RecipeFacts {
  std::string network;              ///< a built-in one, or a file beside the recipe
  std::string cluster;              ///< a built-in one
  std::int64_t per_node = 0;        ///< devices of a node that the run used at most; 0: those of the cluster
  std::string refusal;              ///< why the row cannot be predicted
  std::int64_t packed_samples = 0;  ///< tokens of the samples that were packed into a sequence; 0: one that fills it
  bool overlap_messages = false;    ///< devices compute while messages between stages are on their way
  std::int64_t flash_version = 2;   ///< version of FlashAttention: the first one takes twice as long
  double kept_layers = 0;           ///< share of the layers whose products stay in 16 bits, whatever the job's format
  std::string layout;               ///< which layers the stages have, as Megatron-LM writes it; empty: the same for all
};

/// Rules for the rows of a table: which network and machine a row means, and how its job computes.
///
///     {"format": "plumbline-recipe", "version": 1, "source": "...",
///      "rules": [{"when": {"gpu": "H100"}, "cluster": "h100", "per_node": 8},
///                {"when": {"model": ["Qwen3*"], "note": "26.08*"}, "job": {"captured": "all"}}]}
///
/// A rule holds for the rows whose columns are one of the texts ('*' stands for anything); later rules win.
/// tools/measured_steps/RECIPES.md has the keys.
class StepRecipe {
 public:
  /// Knows nothing of any row.
  StepRecipe() = default;
  /// Reads all rules once, so that a mistake is told at once. Throws `Error` with line, column and path.
  StepRecipe(std::string_view text, const std::string& file_name);

  RecipeFacts facts(const MeasuredStep& row) const;
  /// Changes what the rules say about how the row's job computes.
  void apply(const MeasuredStep& row, Parallelism& job) const;

 private:
  std::shared_ptr<const JsonDocument> document_;
};

}  // namespace plumb
