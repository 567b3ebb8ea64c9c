#pragma once

#include <array>
#include <string>
#include <string_view>

#include "models/kernels/matrix_format.hpp"
#include "models/network/network.hpp"

namespace plumb {

/// What --precision may be.
inline constexpr std::array<std::string_view, 7> kPrecisionNames{"mixed",     "single", "fp8",  "fp8-current",
                                                                 "fp8-block", "mxfp8",  "nvfp4"};

/// What `--precision` says of matrix products: bf16, unless it is the name of another format.
MatrixFormat matrix_format_of(const std::string& precision);
/// "single", or "mixed" and names of formats; empty: single on the cluster "host", mixed elsewhere. Throws `Error` for
/// anything else.
Precision precision_of(const std::string& name, const std::string& cluster);

}  // namespace plumb
