#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/jobs/parallelism.hpp"
#include "models/network/network.hpp"

namespace plumb {

/// One published measurement of a training run (results/public/README.md). 0 or empty: the source does not say.
struct MeasuredStep {
  std::string id;
  std::string data;    ///< its file: "vtrain", "simumax", ...
  std::string source;  ///< where its figures were published
  std::string model;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t sequence = 0;
  std::int64_t vocabulary = 0;
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t expert_hidden = 0;
  std::string gpu;
  std::int64_t num_gpus = 0;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t chunks = 1;
  std::int64_t data_degree = 1;
  std::int64_t expert = 1;
  std::int64_t context = 1;
  std::int64_t microbatch_size = 0;
  std::int64_t num_microbatches = 0;
  std::string schedule;
  std::string recompute;
  std::string precision;
  double step_s = 0;           ///< measured, or from the throughput
  double memory_gib = 0;       ///< measured peak
  double published_error = 0;  ///< of another tool's prediction of the step time; NaN: none
  std::string note;

  /// Whether it fits the constants (true) or is only predicted: by a hash of the id, so that files may be reordered.
  bool fits_constants() const;
};

/// The rows of "vtrain.csv" and so on. Throws `Error` ("vtrain.csv:7: ...").
std::vector<MeasuredStep> measured_steps(std::string_view text, const std::string& file_name);

/// Why a row cannot be predicted from its configuration; empty: it can.
std::string refusal(const MeasuredStep& row);

/// The network of a row, as its source names it.
Network step_network(const MeasuredStep& row);

/// How its job is spread and computes: what the row says, and what its source is known to run (results/public).
Parallelism step_parallelism(const MeasuredStep& row);

}  // namespace plumb
