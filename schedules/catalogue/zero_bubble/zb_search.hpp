#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedules/catalogue/pass_costs.hpp"
#include "schedules/document/action.hpp"

namespace plumb {

/// What a search found: the word over F, I and W of every device (microbatches come in order within each letter), and
/// the longest time from a device's first to its last action.
struct SearchedOrder {
  std::vector<std::vector<Op>> devices;
  Ticks longest_device_span = 0;
};

/// The paper's binary hyper-parameters; without a value both are tried.
struct SearchChoices {
  std::optional<bool> allow_gap{};       ///< leave a gap before the first I rather than put it off by one more F
  std::optional<bool> skip_forward{};    ///< a stage that is ahead may leave out a forward in favour of the next I
  std::optional<bool> fill_small_gap{};  ///< a W into a gap shorter than itself even where waiting would not hurt
};

/// The automatic scheduler of the zero-bubble paper over a straight pipeline: one stage per device, `limits` for the
/// stashes of every device. All combinations of its hyper-parameters that `choices` allows are tried, with the times of
/// every stage and, as the released code does, with the median times of all; the first best one wins. Empty when a
/// device cannot even hold one stash. (Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 3.1, and
/// its released code, here in integer time)
std::optional<SearchedOrder> search_zero_bubble(const PassCosts& costs, std::span<const std::int64_t> limits,
                                                std::int32_t num_microbatches, const SearchChoices& choices = {});

}  // namespace plumb
