#include "models/jobs/low_precision.hpp"

#include <array>

namespace plumb {
namespace {

constexpr std::array<FormatCosts, kMatrixFormatCount> kCosts{{
    {},
    {.number_bytes = 1, .two_copies = true, .both_kept = true, .gathers = true},
    {.number_bytes = 1, .scans = true, .two_copies = true, .both_kept = true, .gathers = true},
    {.number_bytes = 1 + 4.0 / 128, .two_copies = true, .both_kept = true},
    {.number_bytes = 1 + 1.0 / 32, .two_copies = true, .both_kept = true, .gathers = true},
    {.number_bytes = 0.5 + 1.0 / 16, .scans = true, .two_copies = true, .both_kept = true, .gathers = true},
}};

constexpr double kWideBytes = 2;
constexpr double kAmaxBytes = 4;

}  // namespace

const FormatCosts& format_costs(MatrixFormat format) { return kCosts[static_cast<std::size_t>(format)]; }

void add_cast(PassKernels& pass, MatrixFormat format, double numbers, bool shared) {
  if (format == MatrixFormat::kBf16) return;
  const FormatCosts& costs = format_costs(format);
  if (costs.scans) {
    pass.memory(kWideBytes * numbers, 1, Movement::kCast);
    if (shared) pass.collective(CollectiveOp::kAllReduce, GroupAxis::kTensor, kAmaxBytes);
  }
  pass.memory((kWideBytes + (costs.two_copies ? 2 : 1) * costs.number_bytes) * numbers, 1, Movement::kCast);
}

}  // namespace plumb
