#include "models/kernels/low_precision.hpp"

namespace plumb {
namespace {

constexpr double kSixteenBits = 2;
constexpr double kAmaxBytes = 4;

}  // namespace

void add_cast(PassKernels& pass, MatrixFormat format, const CastTensor& tensor) {
  if (format == MatrixFormat::kBf16) return;
  const FormatCosts& costs = format_costs(format);
  if (tensor.made_for_it && !costs.scans) return;
  const bool scanned = tensor.made_for_it && costs.maker_scans;
  const bool both = costs.two_copies && !(tensor.any_layout && costs.layout_only);
  double bytes = kSixteenBits + (both ? 2 : 1) * costs.number_bytes;
  if (costs.scans && !scanned) bytes += kSixteenBits;
  if (costs.scans && tensor.shared) pass.collective(CollectiveOp::kAllReduce, GroupAxis::kTensor, kAmaxBytes);
  // The cast itself is a kernel per tensor, the rest one for all of them.
  const std::int64_t launches = tensor.copies + costs.launches - (scanned ? 2 : 1);
  pass.memory(bytes * tensor.numbers, static_cast<std::int32_t>(launches), Movement::kCast);
}

}  // namespace plumb
