#include "schedules/catalogue/generate_as.hpp"
#include "schedules/catalogue/torch/rounds.hpp"

namespace plumb {

/// PyTorch's ScheduleInterleavedZeroBubble: `interleaved-zb` whose groups are PyTorch's rounds. Needs m to be a
/// multiple of the number of rounds, max(1, m div p).
///
///   p = 2, v = 2, m = 2
///   d0: 0F0 0F1 2F0 2F1 2I0 2W0 2I1 2W1 0I0 0W0 0I1 0W1 0U0 2U0
///   d1: 1F0 1F1 3F0 3I0 3F1 3I1 3W0 1I0 3W1 1I1 1W0 1W1 1U0 3U0
Schedule torch_interleaved_zb(const ScheduleParams& params) {
  ScheduleParams ours = params;
  ours.options = {{"group", std::to_string(torch_round("torch-interleaved-zb", params))}};
  return generate_as("torch-interleaved-zb", "interleaved-zb", ours);
}

}  // namespace plumb
