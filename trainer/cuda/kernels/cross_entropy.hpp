#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"

namespace plumb::kernels {

/// Softmax and mean cross-entropy (trainer/layers/head.cpp): logits become their gradient, (softmax - one at the
/// target) / loss_tokens; rows whose target is negative do not count and become 0.
template <class T>
struct CrossEntropy {
  T* logits = nullptr;  ///< in place, a row per token ...
  /// ... or a column per token: rows of a vocabulary that is no multiple of 8 would begin anywhere, and products of
  /// bf16 with such rows are slow.
  bool by_columns = false;
  const std::int32_t* targets = nullptr;
  std::int64_t rows = 0;
  std::int64_t vocabulary = 0;
  double loss_tokens = 1;
  double* loss = nullptr;           ///< overwritten: the sum over the rows over loss_tokens; or null
  std::int64_t* correct = nullptr;  ///< or null: grows by the rows whose largest logit is the target
  std::byte* scratch = nullptr;     ///< cross_entropy_scratch_bytes(rows)
};
std::int64_t cross_entropy_scratch_bytes(std::int64_t rows);
template <class T>
void cross_entropy(const CrossEntropy<T>& head, Stream stream);

/// The sum of (y - target)^2 / 2 over loss_tokens; `error` becomes its gradient (trainer/layers/squared_error.cpp).
template <class T>
struct SquaredError {
  const T* values = nullptr;
  const double* targets = nullptr;
  T* error = nullptr;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  double loss_tokens = 1;
  double* loss = nullptr;
  std::byte* scratch = nullptr;  ///< cross_entropy_scratch_bytes(rows)
};
template <class T>
void squared_error(const SquaredError<T>& loss, Stream stream);

}  // namespace plumb::kernels
