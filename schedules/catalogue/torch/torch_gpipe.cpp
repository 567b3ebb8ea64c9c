#include "schedules/catalogue/generate_as.hpp"
#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// PyTorch's ScheduleGPipe: all forwards, then all backwards, both ascending. (torch.distributed.pipelining 2.14)
///
///   p = 2, m = 3
///   d0: 0F0 0F1 0F2 0B0 0B1 0B2 0U0
///   d1: 1F0 1F1 1F2 1B0 1B1 1B2 1U0
Schedule torch_gpipe(const ScheduleParams& params) {
  require_one_chunk("torch-gpipe", params);
  ScheduleParams ours = params;
  ours.options = {{"order", "fifo"}};
  return generate_as("torch-gpipe", "gpipe", ours);
}

}  // namespace plumb
