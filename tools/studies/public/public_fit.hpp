#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/studies/public/public_results.hpp"

namespace plumb {

/// What `--fit` says.
struct PublicFit {
  std::string gpu;                          ///< beginning of a device's name
  std::string start;                        ///< file of the rates to start from; empty: the shipped ones
  std::string without;                      ///< group that takes no part
  std::vector<std::string_view> constants;  ///< names; empty: all
  std::optional<std::int64_t> rounds;
};

/// Rates fitted to one half of the rows of `all` and to the measured times of their stages. Throws `Error` where there
/// are none.
KernelRates fitted_public_rates(const PublicResults& all, const PublicFit& fit);

/// Fills in the predictions with the shipped rates, and with those that were fitted without the group of a row
/// (results/public/left-out), where there are such.
void predict_public(PublicResults& results);

}  // namespace plumb
