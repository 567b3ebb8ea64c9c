#pragma once

#include <string>

#include "models/kernels/kernel_rates.hpp"

namespace plumb {

/// Returns what an answer stands on, in one clause, with the error to expect: "rates measured on B200; expected error 4
/// %", "rates fitted to 118 measured steps; ...", or a warning that they are assumptions.
std::string rates_text(const KernelRates& rates);

/// Said behind it where nothing is known of the format that products are asked in: "; whether V100 multiplies in fp8 is
/// not known, ..."; otherwise empty.
std::string unknown_format_text(const KernelRates& rates, MatrixFormat format);

/// "assumed", "fitted" or "measured", for documents.
std::string rates_basis_name(RatesBasis basis);

}  // namespace plumb
