#include "models/jobs/kernels.hpp"

namespace plumb {

void PassKernels::gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count) {
  Kernel kernel{.kind = Kernel::Kind::kGemm, .m = m, .n = n, .k = k, .count = count};
  kernel.flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * static_cast<double>(count);
  kernel.bytes = 2.0 * static_cast<double>(count) *
                 (static_cast<double>(m) * static_cast<double>(n) + static_cast<double>(m) * static_cast<double>(k) +
                  static_cast<double>(n) * static_cast<double>(k));
  list.push_back(kernel);
}

void PassKernels::attention(double flops, double bytes, std::int32_t launches) {
  list.push_back({.kind = Kernel::Kind::kAttention, .flops = flops, .bytes = bytes, .launches = launches});
}

void PassKernels::memory(double bytes, std::int32_t launches) {
  list.push_back({.kind = Kernel::Kind::kMemory, .bytes = bytes, .launches = launches});
}

void PassKernels::roofline(double flops, double bytes) {
  if (flops > 0 || bytes > 0) list.push_back({.kind = Kernel::Kind::kRoofline, .flops = flops, .bytes = bytes});
}

void PassKernels::collective(CollectiveOp op, GroupAxis axis, double bytes, bool hidden) {
  list.push_back({.kind = Kernel::Kind::kCollective, .bytes = bytes, .op = op, .axis = axis, .hidden = hidden});
}

void PassKernels::append(const PassKernels& other) { list.insert(list.end(), other.list.begin(), other.list.end()); }

double PassKernels::flops() const {
  double sum = 0;
  for (const Kernel& kernel : list) sum += kernel.flops;
  return sum;
}

}  // namespace plumb
