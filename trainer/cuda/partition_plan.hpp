#pragma once

#include <string>
#include <vector>

#include "trainer/cuda/green_driver.hpp"
#include "trainer/streams/stream_options.hpp"

namespace plumb::cuda {

/// What is wanted of a GPU: equal parts for `devices` virtual devices, and something left over for the copies between
/// them.
struct PartitionRequest {
  int devices = 1;
  PartitionMode mode = PartitionMode::kAccuracy;
  int sms = 0;  ///< multiprocessors of a virtual device; 0: 8 for accuracy, an equal share for throughput
};

/// How many groups of a size the driver makes in one split.
struct SplitOffer {
  unsigned int flags = 0;
  unsigned int sms = 0;     ///< multiprocessors of a group
  unsigned int groups = 0;  ///< 0: refused
  unsigned int left_over = 0;
};

/// The split that is taken.
struct PartitionPlan {
  SplitOffer split;
  bool copies_have_group = false;  ///< otherwise they have what is left over
  std::vector<SplitOffer> looked_at;
};

/// Asks the driver, size by size, and takes the first split that is enough: for accuracy groups that are scheduled
/// together, however small; for throughput the largest ones. The number of groups depends on the die: 132 SMs give 13
/// to 16 groups of 8. Throws `Error` with what is possible when nothing is enough.
PartitionPlan plan_partition(const GreenDriver& driver, CUdevice gpu, const PartitionRequest& request);

/// "15 groups of 8 SMs (12 left over)".
std::string text_of(const SplitOffer& offer);

}  // namespace plumb::cuda
