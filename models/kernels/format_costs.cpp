#include "models/kernels/format_costs.hpp"

#include <array>

namespace plumb {
namespace {

constexpr std::array<FormatCosts, kMatrixFormatCount> kFormatCosts{{
    {},
    {.number_bytes = 1, .two_copies = true, .layout_only = true, .both_kept = true, .gathers = true},
    {.number_bytes = 1,
     .scans = true,
     .maker_scans = true,
     .launches = 3,
     .two_copies = true,
     .layout_only = true,
     .both_kept = true,
     .gathers = true},
    {.number_bytes = 1 + 4.0 / 128, .two_copies = true, .both_kept = true},
    {.number_bytes = 1 + 1.0 / 32, .launches = 2, .two_copies = true, .both_kept = true, .gathers = true},
    {.number_bytes = 0.5 + 1.0 / 16, .scans = true, .launches = 3, .two_copies = true, .both_kept = true},
}};

}  // namespace

const FormatCosts& format_costs(MatrixFormat format) { return kFormatCosts[static_cast<std::size_t>(format)]; }

}  // namespace plumb
