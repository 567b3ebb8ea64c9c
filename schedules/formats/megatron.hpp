#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// The schedules that Megatron-LM's options can describe. Its only orders are 1F1B and its interleaved form.
struct MegatronPlan {
  std::int64_t pipeline_size = 1;   ///< P
  std::int64_t chunks = 1;          ///< V
  std::int64_t group = 1;           ///< microbatches in a row per chunk; P is the default there
  std::int64_t microbatches = 1;    ///< M
  bool recompute = false;           ///< all stages recompute all microbatches
  bool overlaps_transfers = false;  ///< V > 1: sends and receives run beside compute

  friend bool operator==(const MegatronPlan&, const MegatronPlan&) = default;
};

/// The options that make Megatron-LM run `schedule`. Throws `Error` that says what Megatron cannot do: another order
/// (with the first device and action that differ), split backward, another placement, several replicas.
MegatronPlan megatron_plan(const Schedule& schedule);

/// Command-line options, one per line, comments after `#`.
std::string to_string(const MegatronPlan& plan);

/// The schedule that Megatron-LM runs with the pipeline options in `text`: `--name value` or `--name=value`, on any
/// number of lines, `#` begins a comment. The batch sizes say how many microbatches there are; `--data-parallel-size`
/// (1) is not an option there, but follows from the number of ranks. Throws `Error` with the line.
Schedule schedule_from_megatron_options(std::string_view text, std::string_view file_name);

/// `to_string(megatron_plan(schedule))`.
std::string schedule_to_megatron_options(const Schedule& schedule);

/// The value of `--pipeline-model-parallel-layout`: decoder layers of every stage, stages in order of the model, the
/// embedding before the first and the loss after the last: "Ett|(tttt|)*2,tttL". Equal stages are folded.
std::string megatron_layout(std::span<const std::int64_t> layers);

}  // namespace plumb
