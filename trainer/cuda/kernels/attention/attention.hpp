#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"

namespace plumb::kernels {

/// softmax(scale q k^T) v, head by head. Heads share keys and values in groups; query `i` of a sample sees keys
/// [0, before + i] when causal, all of them otherwise, and never those from the sample's length on.
struct AttentionShape {
  std::int64_t samples = 0;
  std::int64_t sequence = 0;  ///< queries of a sample
  std::int64_t before = 0;    ///< keys of a sample before the key of its first query
  std::int64_t heads = 0;
  std::int64_t group = 1;  ///< heads that share keys and values
  std::int64_t head_width = 0;
  bool causal = true;
  const std::int32_t* lengths = nullptr;  ///< by sample, or null: keys that count

  std::int64_t keys() const { return before + sequence; }
};

/// Rows of a sample one after the other, samples likewise; head h begins at column h * head_width.
template <class T>
struct HeadRows {
  T* rows = nullptr;
  std::int64_t stride = 0;  ///< numbers from row to row
};

template <class T>
struct AttentionForward {
  AttentionShape shape;
  HeadRows<const T> queries;
  HeadRows<const T> keys;
  HeadRows<const T> values;
  HeadRows<T> attended;
  float* log_sums = nullptr;  ///< by token and head: of the exponentials of its scaled scores
};
/// bf16 in matrix units, up to 128 numbers per head; float as plain loops, up to 256. Throws Error for more.
template <class T>
void attention_forward(const AttentionForward<T>& attention, Stream stream);

template <class T>
struct AttentionBackward {
  AttentionShape shape;
  HeadRows<const T> queries;
  HeadRows<const T> keys;
  HeadRows<const T> values;
  HeadRows<const T> attended;
  HeadRows<const T> attended_grad;
  const float* log_sums = nullptr;
  HeadRows<T> query_grad;  ///< all gradients are overwritten
  HeadRows<T> key_grad;
  HeadRows<T> value_grad;
  float* deltas = nullptr;  ///< scratch: a number per token and head
};
template <class T>
void attention_backward(const AttentionBackward<T>& attention, Stream stream);

}  // namespace plumb::kernels
