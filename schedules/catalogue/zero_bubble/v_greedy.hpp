#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedules/catalogue/zero_bubble/v_order.hpp"

namespace plumb {

/// Slots of F0, F1, I1 and I0 of one microbatch on one device, in a grid where every pass takes one slot.
using VSlots = std::array<std::int64_t, 4>;

/// Repeats a building block (one `VSlots` per device) every six slots for `num_microbatches`, places W in idle slots,
/// then moves passes of warm-up and drain to earlier slots where the peak of memory allows. The order does not depend
/// on real costs. (Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, section 3, and its
/// released greedy code)
std::vector<VWord> greedy_v_words(const std::vector<VSlots>& block, std::int64_t num_microbatches);

}  // namespace plumb
