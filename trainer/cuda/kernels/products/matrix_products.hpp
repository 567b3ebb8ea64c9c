#pragma once

#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"
#include "trainer/numbers/number.hpp"

namespace plumb::kernels {

enum class NumberKind : std::uint8_t { kFloat32, kBFloat16 };
template <class T>
inline constexpr NumberKind kKindOf = sizeof(T) == 4 ? NumberKind::kFloat32 : NumberKind::kBFloat16;

/// A row-major matrix, or its transpose where an operand is read so.
struct ProductOperand {
  const void* data = nullptr;
  std::int64_t stride = 0;  ///< numbers from one stored row to the next
  bool transposed = false;  ///< stored as columns x rows
};

/// What happens to a product before it is stored.
enum class Epilogue : std::uint8_t {
  kNone,
  kBias,      ///< + bias, a number per column
  kGelu,      ///< + bias (where there is one), kept in `inner`; GELU of it is stored
  kGeluGrad,  ///< times the slope of GELU at `inner`
};

/// c = epilogue(s a b), or c += s a b. a is rows x depth, b depth x columns. All sums are made in float.
struct MatrixProduct {
  ProductOperand a;
  ProductOperand b;
  void* c = nullptr;
  std::int64_t c_stride = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  NumberKind operands = NumberKind::kFloat32;  ///< kind of a, b, bias and inner
  NumberKind result = NumberKind::kFloat32;    ///< kind of c
  bool accumulates = false;
  float scale = 1;  ///< s
  Epilogue epilogue = Epilogue::kNone;
  const void* bias = nullptr;
  void* inner = nullptr;  ///< rows x columns; written by kGelu, read by kGeluGrad
  std::int64_t inner_stride = 0;
};

/// Whoever multiplies matrices: cuBLASLt on a device. Same problem, same bits.
class MatrixProducts {
 public:
  virtual ~MatrixProducts() = default;
  virtual void run(const MatrixProduct& product, Stream stream) = 0;
  /// Returns whether `run` can do this product with its epilogue in one go; a layer has its own kernels otherwise.
  virtual bool fuses(const MatrixProduct& product) const = 0;
};

}  // namespace plumb::kernels
