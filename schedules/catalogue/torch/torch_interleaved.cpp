#include "schedules/catalogue/generate_as.hpp"
#include "schedules/catalogue/torch/rounds.hpp"

namespace plumb {

/// PyTorch's ScheduleInterleaved1F1B: `interleaved` whose groups are PyTorch's rounds, m / max(1, m div p) microbatches
/// each. Needs m to be a multiple of the number of rounds; fewer than 2p always are.
///
///   p = 2, v = 2, m = 3        one round of three
///   d0: 0F0 0F1 0F2 2F0 2F1 2F2 2B0 2B1 2B2 0B0 0B1 0B2 0U0 2U0
///   d1: 1F0 1F1 1F2 3F0 3B0 3F1 3B1 3F2 3B2 1B0 1B1 1B2 1U0 3U0
Schedule torch_interleaved(const ScheduleParams& params) {
  ScheduleParams ours = params;
  ours.options = {{"group", std::to_string(torch_round("torch-interleaved", params))}};
  return generate_as("torch-interleaved", "interleaved", ours);
}

}  // namespace plumb
