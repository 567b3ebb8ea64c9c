#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/jobs/parallelism.hpp"
#include "models/jobs/stage_choices.hpp"
#include "models/kernels/kernel_rates.hpp"
#include "models/network/layer_arithmetic.hpp"
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
  /// " --tp 2 --dp 4": the options of the same meaning.
  std::string options_text() const;

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

/// Returns the rates of `device`: of the document `rates` where it is given, limited to `power` watts.
KernelRates asked_rates(const std::string& rates, const std::optional<double>& power, const DeviceSpec& device);

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

/// Options for the parallelism inside a stage and for how it computes (models/jobs/parallelism.hpp). Degrees that are
/// not given are 1.
struct JobArguments {
  JobDegrees degrees;
  std::optional<double> capacity;
  std::optional<double> imbalance;
  LoraArguments lora;
  TrafficArguments traffic;
  std::string dispatcher;
  std::string weight_gradients;
  bool fused_loss = false;
  bool sequence_parallel = false;
  bool no_flash_attention = false;
  bool dropout = false;
  bool cp_by_heads = false;
  bool low_precision_dispatch = false;
  std::string captured;
  bool no_prefetch = false;
  std::string tensor_by_rank;            ///< "2-2-4-4": of every pipeline rank
  std::string shard_layers;              ///< "4-2-0": how many of the first layers of every stage
  std::optional<Parallelism> described;  ///< by a launch file: what no option says
  std::string rates;                     ///< document of the devices' rates; empty: built in
  std::optional<double> power;           ///< watts that each device is limited to

  /// Declares the options; this object and `ranges` must outlive the parsing. With `ranges` the degrees go there.
  void add_to(OptionTable& parser, JobRanges* ranges = nullptr);
  /// Whether a job is described.
  bool any() const;
  /// A `--recompute` that is about layers (`layer_recompute_of`) is moved here; other values name stages and stay.
  void take_recompute(std::string& schedule_recompute);

  /// Without a precision: that of the launch file, or mixed. Throws `Error` for values out of range.
  Parallelism parallelism(const std::optional<Precision>& precision, MatrixFormat format) const;
  /// Of every pipeline rank, where `--tp-by-rank` is given; otherwise empty.
  std::vector<std::int32_t> tensor_degrees_by_rank() const;
  /// What single stages have otherwise than `parallelism` says. Throws `Error` for what is no list of counts.
  StageChoices stage_choices() const;
  KernelRates rates_of(const DeviceSpec& device) const;

 private:
  void set_experts(Parallelism& job) const;
  void set_captured(Parallelism& job) const;
  void set_memory(Parallelism& job) const;
};

}  // namespace plumb
