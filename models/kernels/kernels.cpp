#include "models/kernels/kernels.hpp"

#include "models/kernels/format_costs.hpp"

namespace plumb {

namespace {

constexpr double kResultBytes = 2;

}  // namespace

void PassKernels::gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count) {
  product({.m = m, .n = n, .k = k, .count = count});
}

void PassKernels::product(const ProductShape& shape, std::int64_t accumulated_bytes) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const auto count = static_cast<double>(shape.count);
  const double per_result = accumulated_bytes > 0 ? 2.0 * static_cast<double>(accumulated_bytes) : kResultBytes;
  const double per_operand = format_costs(shape.format).number_bytes;
  ProductShape added = shape;
  added.accumulated = accumulated_bytes;
  list.push_back({.kind = Kernel::Kind::kGemm,
                  .product = added,
                  .flops = 2 * m * n * k * count,
                  .bytes = count * (m * n * per_result + (m * k + n * k) * per_operand)});
}

void PassKernels::attention(const AttentionShape& shape, double flops, double bytes, std::int32_t launches) {
  list.push_back(
      {.kind = Kernel::Kind::kAttention, .attention = shape, .flops = flops, .bytes = bytes, .launches = launches});
}

void PassKernels::memory(double bytes, std::int32_t launches, Movement movement) {
  list.push_back({.kind = Kernel::Kind::kMemory, .movement = movement, .bytes = bytes, .launches = launches});
}

void PassKernels::roofline(double flops, double bytes) {
  if (flops > 0 || bytes > 0) list.push_back({.kind = Kernel::Kind::kRoofline, .flops = flops, .bytes = bytes});
}

void PassKernels::collective(CollectiveOp op, GroupAxis axis, double bytes, bool hidden) {
  list.push_back({.kind = Kernel::Kind::kCollective, .bytes = bytes, .op = op, .axis = axis, .hidden = hidden});
}

void PassKernels::exchange(const ExpertExchange& exchange, bool hidden) {
  list.push_back({.kind = Kernel::Kind::kExchange, .exchange = exchange, .hidden = hidden});
}

void PassKernels::append(const PassKernels& other) { list.insert(list.end(), other.list.begin(), other.list.end()); }

void LayerKernels::append(const LayerKernels& other) {
  forward.append(other.forward);
  input_grad.append(other.input_grad);
  weight_grad.append(other.weight_grad);
  again.append(other.again);
}

double PassKernels::flops() const {
  double sum = 0;
  for (const Kernel& kernel : list) sum += kernel.flops;
  return sum;
}

}  // namespace plumb
