#pragma once

#include <cstdint>
#include <string>

namespace plumb {

/// What virtual devices are for: to be predicted (few multiprocessors each, so that memory and power are far from their
/// limits), or to be fast (all of the GPU).
enum class PartitionMode : std::uint8_t { kAccuracy, kThroughput };

/// How the executor `streams` uses the machine. All but the devices matter to GPUs only.
struct StreamOptions {
  std::int32_t devices = 0;       ///< of the schedule that are in this process, ...
  std::int32_t first_device = 0;  ///< ... and the number of the first one
  std::int32_t first_gpu = 0;     ///< of the machine that this process uses, round robin
  PartitionMode mode = PartitionMode::kAccuracy;
  std::int32_t sms = 0;         ///< multiprocessors of a virtual device; 0: as the mode says
  std::int32_t gpus = 1;        ///< devices are dealt out to them, neighbours together
  double link_latency_s = 0;    ///< of a link between virtual devices of one GPU, ...
  double link_bytes_per_s = 0;  ///< ... and its bandwidth; 0: as fast as it goes
  bool graphs = true;           ///< a pass of a stage is one launch
  std::string product_table;    ///< file of the algorithms of matrix products: read if there, written; empty: none
  bool links = false;           ///< other processes are waited for on streams, so nothing may wait for all of the GPU
  double watchdog_s = 120;      ///< without progress for so long, the run ends with what everybody waits for
};

}  // namespace plumb
