#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"

namespace plumb::kernels {

/// Rows of a table by token id, plus positions (trainer/layers/embedding.cpp).
template <class T>
struct EmbeddingForward {
  const std::int32_t* ids = nullptr;
  std::int32_t* kept = nullptr;  ///< a copy of the ids for the backward
  const T* table = nullptr;
  const T* positions = nullptr;  ///< or null
  T* output = nullptr;           ///< or null: only the ids are kept
  std::int64_t tokens = 0;
  std::int64_t sequence = 0;  ///< tokens of a sample
  std::int64_t before = 0;    ///< position of its first one
  std::int64_t width = 0;
  bool sinusoidal = false;  ///< rows times sqrt(width) plus fixed waves
};
template <class T>
void embedding_forward(const EmbeddingForward<T>& embedding, Stream stream);

/// Tokens are sorted by id, stably; then every id's rows are added up in the order of the tokens.
template <class T>
struct EmbeddingBackward {
  const std::int32_t* ids = nullptr;
  const T* output_grad = nullptr;
  float* table_grad = nullptr;      ///< added to
  float* positions_grad = nullptr;  ///< or null; added to
  std::byte* scratch = nullptr;     ///< embedding_scratch_bytes(tokens)
  std::int64_t tokens = 0;
  std::int64_t sequence = 0;
  std::int64_t before = 0;
  std::int64_t width = 0;
  std::int64_t vocabulary = 0;
  bool sinusoidal = false;  ///< gradients times sqrt(width)
};
std::int64_t embedding_scratch_bytes(std::int64_t tokens);
template <class T>
void embedding_backward(const EmbeddingBackward<T>& embedding, Stream stream);

}  // namespace plumb::kernels
