#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plumb::testing {

/// What PyTorch (torch.distributed.pipelining 2.14) is asked for.
struct TorchSize {
  std::int64_t p = 1;  ///< ranks
  std::int64_t v = 1;  ///< stages per rank
  std::int64_t m = 1;  ///< microbatches
};

/// The compute order of every rank as PyTorch's constructors make it, bubbles left out: {"0F0",
/// "(0F1;3B0)OVERLAP_F_B"}. Written from the description of PyTorch's rules, counter by counter, and knowing nothing of
/// our generators. No value where PyTorch raises ValueError. `kind` as in our catalogue, "torch-gpipe" and so on.
std::optional<std::vector<std::vector<std::string>>> torch_order(const std::string& kind, const TorchSize& size);

}  // namespace plumb::testing
