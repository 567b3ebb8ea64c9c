#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/launches/settings.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// Returns a value of Megatron-LM's --pipeline-model-parallel-layout written out: commas go, then every ( ... )*n, then
/// every letter with *n. Empty when that cannot be done.
std::string written_out_layout(std::string layout);

/// A network as runtimes cut it: what stands before the units, the units (transformer layers and further-token
/// modules), and what stands behind them; each as a number of its layers.
struct PipelineUnits {
  std::size_t before = 1;
  std::vector<std::size_t> units;
  std::size_t behind = 2;
};

/// Returns the units of every stage, by the options of Megatron-LM in `settings`: a layout, numbers of the first and
/// last stage, embedding and loss that count as a layer, or the same for all. Throws `Error` for what Megatron refuses.
std::vector<std::int64_t> megatron_stage_units(const Settings& settings, std::int64_t units, std::int64_t pipeline,
                                               std::int64_t chunks);
/// Cuts as DeepSpeed's partition method "type:transformer": as evenly as possible, larger stages first (its
/// `partition_balanced`; releases of 2022 fill all stages but the last); "type:transformer|embedding" counts embedding
/// and head as a layer each. Throws `Error` where a stage would have no layer.
std::vector<std::int64_t> deepspeed_stage_units(const Settings& settings, std::int64_t units, std::int64_t pipeline);
/// Returns the stages of a rank, by whichever option says it. Throws `Error`.
std::int64_t megatron_chunks(const Settings& settings, std::int64_t units, std::int64_t pipeline);

/// Returns the cut into stages of so many units.
Partition cut_at_units(const PipelineUnits& network, const std::vector<std::int64_t>& stages);

}  // namespace plumb
