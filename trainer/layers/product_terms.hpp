#pragma once

#include <cstdint>

namespace plumb {

/// The parameters of y = x W^T + b.
template <class T>
struct AffineWeights {
  const T* weight = nullptr;
  const T* bias = nullptr;  ///< null: none
};

/// How a product is written.
struct ProductTerms {
  double scale = 1;         ///< factor of the product, bias excluded
  bool adds = false;        ///< to what is there
  std::int64_t stride = 0;  ///< gradient of x: numbers between its rows; 0: dense
};

}  // namespace plumb
