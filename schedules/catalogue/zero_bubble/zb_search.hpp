#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "schedules/catalogue/pass_costs.hpp"
#include "schedules/catalogue/searched/best_order.hpp"

namespace plumb {

/// The paper's binary hyper-parameters; without a value both are tried.
struct SearchChoices {
  std::optional<bool> allow_gap{};       ///< leave a gap before the first I rather than put it off by one more F
  std::optional<bool> skip_forward{};    ///< a stage that is ahead may leave out a forward in favour of the next I
  std::optional<bool> fill_small_gap{};  ///< a W into a gap shorter than itself even where waiting would not hurt

  bool are_open() const { return !allow_gap && !skip_forward && !fill_small_gap; }
};

/// The automatic scheduler of the zero-bubble paper over a straight pipeline: the words over F, I and W (0, 1, 2) of
/// every device, one stage per device, `limits` for the stashes of every device. All combinations of its
/// hyper-parameters that `choices` allows are tried, with the times of every stage and, as the released code does, with
/// the median times of all; the first best one wins. Where `effort` improves and all hyper-parameters are open, a
/// second rule for skipping is tried, too, and every comparison of times is also decided the other way at ties (the
/// released code's floating-point times decide them either way); then see `best_order`. Empty when a device cannot even
/// hold one stash. (Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 3.1, and its released code,
/// here in integer time)
std::optional<ProvedOrder> search_zero_bubble(const PassCosts& costs, std::span<const std::int64_t> limits,
                                              std::int32_t num_microbatches, const SearchChoices& choices = {},
                                              SearchEffort effort = {});

}  // namespace plumb
