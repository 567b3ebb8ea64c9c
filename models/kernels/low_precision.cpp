#include "models/kernels/low_precision.hpp"

namespace plumb {
namespace {

constexpr double kSixteenBits = 2;
constexpr double kAmaxBytes = 4;

}  // namespace

void add_cast(PassKernels& pass, MatrixFormat format, double numbers, bool shared) {
  if (format == MatrixFormat::kBf16) return;
  const FormatCosts& costs = format_costs(format);
  if (costs.scans) {
    pass.memory(kSixteenBits * numbers, 1, Movement::kCast);
    if (shared) pass.collective(CollectiveOp::kAllReduce, GroupAxis::kTensor, kAmaxBytes);
  }
  pass.memory((kSixteenBits + (costs.two_copies ? 2 : 1) * costs.number_bytes) * numbers, 1, Movement::kCast);
}

}  // namespace plumb
