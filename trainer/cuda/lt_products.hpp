#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "trainer/cuda/kernels/products/matrix_products.hpp"
#include "trainer/cuda/product_plan.hpp"

namespace plumb::cuda {

/// What the products of one stream may use.
struct LtPlace {
  int sms = 0;  ///< multiprocessors that the products are made for; 0: all of the GPU
  std::byte* workspace =
      nullptr;  ///< workspace of the stream alone: two products that share one would spoil each other
  std::int64_t workspace_bytes = 0;
  ProductTable* table = nullptr;  ///< table of the GPU; null: one of its own
};

/// "cublasLt 130100, NVIDIA H200": what a table of algorithms holds for.
std::string product_table_head(const std::string& gpu);

/// Matrix products by cuBLASLt. Algorithms come from the table; where it has none, one is chosen when a product is met
/// for the first time (which must not be while the stream is captured) and put there: no split sums, nothing that
/// depends on what else runs, so the same problem has the same bits.
class LtProducts final : public kernels::MatrixProducts {
 public:
  /// Throws Error when the library cannot start.
  explicit LtProducts(const LtPlace& place);
  ~LtProducts() override;
  LtProducts(const LtProducts&) = delete;
  LtProducts& operator=(const LtProducts&) = delete;

  void run(const kernels::MatrixProduct& product, kernels::Stream stream) override;
  bool fuses(const kernels::MatrixProduct& product) const override;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace plumb::cuda
