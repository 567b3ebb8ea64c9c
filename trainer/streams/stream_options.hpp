#pragma once

#include <cstdint>
#include <string>

namespace plumb {

/// Whether virtual devices should run as predicted (few multiprocessors each, so that memory and power are far from
/// their limits), or fast (all of the GPU).
enum class PartitionMode : std::uint8_t { kAccuracy, kThroughput };

/// Who computes attention, or convolutions, in bf16 on a GPU: our kernels; cuDNN where it has a deterministic plan
/// whose results are right; or cuDNN where it is faster, too.
enum class ComputedBy : std::uint8_t { kOwn, kCudnn, kFastest };

/// How the executor `streams` uses the machine. All but the devices matter to GPUs only.
struct StreamOptions {
  std::int32_t devices = 0;       ///< devices of the schedule that are in this process
  std::int32_t first_device = 0;  ///< number of the first of these devices
  std::int32_t first_gpu = 0;     ///< first GPU of the machine that this process uses, round robin
  PartitionMode mode = PartitionMode::kAccuracy;
  std::int32_t sms = 0;             ///< multiprocessors of a virtual device; 0: as the mode says
  std::int32_t gpus = 1;            ///< devices are spread over them, neighbouring devices on one GPU
  double link_latency_s = 0;        ///< latency of a link between virtual devices of one GPU
  double link_bytes_per_s = 0;      ///< bandwidth of such a link; 0: as fast as it goes
  bool graphs = true;               ///< a pass of a stage is one launch
  std::string product_table;        ///< file of the algorithms of matrix products: read if there, written; empty: none
  std::int32_t product_trials = 1;  ///< algorithms that are timed for each product; 1: the first usable one is taken
  ComputedBy attention = ComputedBy::kOwn;
  std::string attention_table;  ///< file of who computes which attention: read if there, written; empty: none
  ComputedBy convolutions = ComputedBy::kOwn;
  std::string convolution_table;  ///< file of who computes which convolution: read if there, written; empty: none
  bool links = false;             ///< streams wait for other processes, so the host must never wait for a whole GPU
  double watchdog_s = 120;        ///< the run fails after so long without progress, and says why
};

}  // namespace plumb
