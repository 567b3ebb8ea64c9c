#include "models/kernels/low_precision.hpp"

namespace plumb {
namespace {

constexpr double kSixteenBits = 2;
constexpr double kAmaxBytes = 4;
/// Tensors of experts are cast by one call, which starts a kernel for each of them (Transformer Engine 2.9,
/// `multi_tensor_quantize_impl`): 4.5 to 6.7 us each where 128 and 256 were timed (ROCm/TransformerEngine, pull request
/// 598, column "Per-Tensor"). That is about an eighth of what a call of its own takes.
constexpr std::int64_t kTensorsPerCall = 8;
constexpr double kFurtherTensorSeconds = 3e-6;  ///< what the device takes for each besides its bytes

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
  const std::int64_t calls = (tensor.copies + kTensorsPerCall - 1) / kTensorsPerCall;
  const std::int64_t launches = calls + costs.launches - (scanned ? 2 : 1);
  pass.memory(bytes * tensor.numbers, static_cast<std::int32_t>(launches), Movement::kCast);
  if (calls == tensor.copies) return;
  pass.list.push_back({.kind = Kernel::Kind::kMeasured,
                       .seconds = kFurtherTensorSeconds * static_cast<double>(tensor.copies - calls),
                       .launches = 0});
}

}  // namespace plumb
