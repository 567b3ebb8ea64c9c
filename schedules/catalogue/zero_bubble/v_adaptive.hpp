#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/catalogue/zero_bubble/v_order.hpp"

namespace plumb {

/// The order with the shortest device span for `costs` among all building blocks of the V placement whose peak is at
/// most `stashes` on every device (more than 2p are never used). Empty when there is none.
/// (Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, appendix, and its released adaptive
/// scheduler)
std::optional<std::vector<VWord>> search_v_blocks(const PassCosts& costs, std::int64_t num_microbatches,
                                                  std::int64_t stashes);

}  // namespace plumb
