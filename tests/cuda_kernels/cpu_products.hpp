#pragma once

#include "trainer/cuda/kernels/products/matrix_products.hpp"

namespace plumb::kernels {

/// Matrix products of the emulated device: plain loops. Refuses to fuse GELU unless it is told to.
class CpuProducts final : public MatrixProducts {
 public:
  explicit CpuProducts(bool fuses_gelu = false) : fuses_gelu_(fuses_gelu) {}
  void run(const MatrixProduct& product, Stream stream) override;
  bool fuses(const MatrixProduct& product) const override;

 private:
  bool fuses_gelu_;
};

}  // namespace plumb::kernels
