#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/jobs/parallelism.hpp"
#include "models/network/network.hpp"

namespace plumb {

inline constexpr double kBytesPerGib = 1 << 30;

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
  std::int64_t head_width = 0;  ///< 0: heads fill the width
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
  std::int64_t group = 0;  ///< interleaved: microbatches that take turns, 0: as many as devices
  std::int64_t data_degree = 1;
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 0;  ///< 0: as `tensor`
  std::int64_t context = 1;
  std::int64_t microbatch_size = 0;
  std::int64_t num_microbatches = 0;
  std::string schedule;
  std::string recompute;
  std::string precision;
  double step_s = 0;        ///< measured, or from the throughput
  double memory_gib = 0;    ///< measured peak of what the allocator handed out, of the fullest device
  bool of_driver = false;   ///< memory_gib is what the driver shows: all that the allocator held, and what is beside it
  double reserved_gib = 0;  ///< measured peak of what the allocator held
  double published_error = 0;  ///< error of another tool's prediction of the step time; NaN: none
  std::string note;
  std::map<std::string, std::string, std::less<>> cells;  ///< all columns, as they stand in the table

  /// Returns whether it fits the constants (true) or is only predicted: by a hash of the id, so that files may be
  /// reordered.
  bool fits_constants() const;
};

/// Returns the rows of "vtrain.csv" and so on. Throws `Error` ("vtrain.csv:7: ...").
std::vector<MeasuredStep> measured_steps(std::string_view text, const std::string& file_name);

/// Returns why the step time of a row cannot be predicted from its columns; empty: it can. `network_known`: the sizes
/// of its model need not be among them.
std::string refusal(const MeasuredStep& row, bool network_known = false);

/// Says why the memory of a row cannot be predicted; empty: it can.
std::string memory_refusal(const MeasuredStep& row);

/// Returns the network that the columns of a row describe.
Network step_network(const MeasuredStep& row);

/// Returns how its job is spread and computes, by its columns.
Parallelism step_parallelism(const MeasuredStep& row);

}  // namespace plumb
