#pragma once

#include <optional>

#include "schedules/catalogue/searched/best_order.hpp"
#include "schedules/catalogue/zero_bubble/v_order.hpp"

namespace plumb {

/// The heuristic of the zero-bubble paper for the V placement; `costs` has 2p stages, `costs.limit` is that of the
/// stashes of a device. Both choices of filling short gaps (before F, before I) are tried, each again and again with
/// the idle times of its last run as allowance while that helps; with the times of every stage and, as the released
/// code does, with the median times of all. Where `effort` improves, comparisons of times are also decided the other
/// way at ties; then see `best_order`. Words are over the kinds of `VPass`. Empty when memory does not suffice. (Qi et
/// al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241v1, section 6, and its released code, here in integer time)
std::optional<ProvedOrder> search_zb_v(const PassCosts& costs, std::int32_t num_microbatches, SearchEffort effort);

}  // namespace plumb
