#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/options/option_table.hpp"

namespace plumb {

/// The degrees of parallelism of a job as its options give them; no value: the option was not given.
struct JobDegrees {
  std::optional<std::int64_t> tensor{};
  std::optional<std::int64_t> context{};
  std::optional<std::int64_t> expert{};
  std::optional<std::int64_t> expert_tensor{};
  std::optional<std::int64_t> data{};
  std::optional<std::int64_t> zero{};
  std::optional<std::int64_t> microbatch_size{};
  std::string recompute{};  ///< of layers (`layer_recompute_of`); empty: none

  bool any() const {
    return tensor || context || expert || expert_tensor || data || zero || microbatch_size || !recompute.empty();
  }
  /// Devices of one stage.
  std::int64_t devices_per_stage() const { return tensor.value_or(1) * context.value_or(1) * data.value_or(1); }
  /// Samples of all data-parallel ranks; in units of the network's own microbatch where no size is given.
  std::int64_t samples_per_microbatch() const { return data.value_or(1) * microbatch_size.value_or(1); }
  /// "tp 2, dp 4, zero 1, size 2, full recompute"; empty where no option was given.
  std::string text() const;

  friend bool operator==(const JobDegrees&, const JobDegrees&) = default;
};

/// Ranges of degrees, for commands that try several.
struct JobRanges {
  std::string tensor;
  std::string context;
  std::string expert;
  std::string expert_tensor;
  std::string data;
  std::string zero;
  std::string microbatch_size;
  std::string recompute;  ///< names separated by commas

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);
  /// All combinations, tensor outermost; one without degrees where no range is given. Throws `Error` for a text that
  /// is not a range.
  std::vector<JobDegrees> all() const;
};

}  // namespace plumb
