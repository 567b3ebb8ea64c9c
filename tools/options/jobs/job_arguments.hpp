#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/jobs/parallelism.hpp"
#include "models/jobs/stage_choices.hpp"
#include "models/kernels/kernel_rates.hpp"
#include "tools/options/jobs/job_degrees.hpp"
#include "tools/options/jobs/lora_arguments.hpp"
#include "tools/options/jobs/traffic_arguments.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {

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
