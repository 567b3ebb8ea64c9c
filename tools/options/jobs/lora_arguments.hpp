#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/network/layer_arithmetic.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {

/// Low-rank adapters that are trained instead of all weights (LoRA).
struct LoraArguments {
  std::optional<std::int64_t> rank;
  std::optional<double> alpha;
  std::string targets;

  /// Declare the options in the group under way; this object must outlive the parsing. `alpha` scales what adapters
  /// add, which costs nothing, so that only commands that train have it.
  void add_to(OptionTable& parser);
  void add_alpha_to(OptionTable& parser);

  bool any() const { return rank || alpha || !targets.empty(); }
  /// Of rank 0 where none are asked for; alpha is twice the rank by default. Throws `Error` for options of adapters
  /// without a rank.
  Lora adapters() const;
};

}  // namespace plumb
