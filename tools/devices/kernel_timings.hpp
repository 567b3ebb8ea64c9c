#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/kernels.hpp"

namespace plumb {

/// A kernel of a shape, and how long it took.
struct TimedProduct {
  ProductShape shape;
  double seconds = 0;
};
struct TimedAttention {
  AttentionShape shape;
  double flops = 0;  ///< as the cost model counts them: half where the mask is causal
  double seconds = 0;
};
struct TimedMovement {
  Movement movement{};
  double bytes = 0;  ///< as the cost model counts them
  std::int64_t launches = 1;
  double seconds = 0;
};
struct TimedCollective {
  CollectiveOp op{};
  std::int64_t ranks = 2;
  std::int64_t nodes = 1;
  double bytes = 0;  ///< bytes of the whole message, as models/kernels/collectives.hpp counts them
  double seconds = 0;
};

/// A training step of one microbatch of the whole network on the device.
struct TimedStep {
  double forward_s = 0;
  double backward_s = 0;
  double update_s = 0;
  double step_s = 0;
};

/// What was timed on one device, by measure_device.py or another benchmark.
struct KernelTimings {
  std::string device;                ///< its name
  std::string source;                ///< who measured it, with what
  std::int64_t memory_bytes = 0;     ///< 0: not known
  std::int64_t multiprocessors = 0;  ///< 0: not known
  std::string network;               ///< whose kernels; empty: of none
  std::int64_t samples = 1;
  std::int64_t sequence = 1;
  std::int64_t tensor = 1;
  std::int64_t number_bytes = 2;
  double kernel_s = 0;      ///< time of an empty kernel on the device
  double host_s = 0;        ///< time of the host to start one
  double copied_per_s = 0;  ///< bytes read and written by a copy; 0: not measured
  std::vector<TimedProduct> products;
  std::vector<TimedAttention> attentions;
  std::vector<TimedMovement> movements;
  std::vector<TimedCollective> collectives;
  std::optional<TimedStep> step;
};

/// Reads the document "plumbline-kernel-timings" (tools/devices/MEASUREMENTS.md). Throws `Error`.
KernelTimings kernel_timings_from_json(std::string_view text, std::string_view file_name);

}  // namespace plumb
