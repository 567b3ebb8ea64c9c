#pragma once

#include <optional>
#include <string>

#include "models/jobs/parallelism.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {

/// Options for what ranks send each other besides the values of the network: over which ranks ZeRO shards, what is
/// compressed, who updates, and what overlaps.
struct TrafficArguments {
  std::string shard_group;  ///< "8", or "weights=8,gradients=8,optimizer=64"
  std::optional<double> compress_gradients;
  std::string compress_messages;  ///< bits, "4", or of activations and gradients, "4,8"
  std::optional<double> storage_update;
  bool overlap_gradients = false;
  bool overlap_parameters = false;
  bool overlap_tensor = false;
  bool overlap_products = false;
  bool overlap_experts = false;

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);
  bool any() const;
  /// What is given, in `job`. Throws `Error` for what is out of range.
  void apply(Parallelism& job) const;
};

}  // namespace plumb
