#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "trainer/cuda/kernels/attention/attention.hpp"
#include "trainer/numbers/number.hpp"

namespace plumb::cuda {

/// What decides how an attention is computed: sizes, and strides of rows in numbers.
struct AttentionKey {
  bool backward = false;
  bool causal = true;
  std::int64_t samples = 0;
  std::int64_t queries = 0;  ///< queries of a sample
  std::int64_t keys = 0;     ///< keys of a sample; the queries are the last of them
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_width = 0;
  std::int64_t query_row = 0;
  std::int64_t key_row = 0;
  std::int64_t value_row = 0;
  std::int64_t attended_row = 0;
  // Rows of gradients; 0 forward.
  std::int64_t attended_grad_row = 0;
  std::int64_t query_grad_row = 0;
  std::int64_t key_grad_row = 0;
  std::int64_t value_grad_row = 0;
  int sms = 0;  ///< multiprocessors that it may use; 0: all
  /// Log sums of one head follow each other, instead of those of one token. Not told by `text_of`: which one cuDNN
  /// takes is found out by comparing.
  bool by_head = false;

  friend auto operator<=>(const AttentionKey&, const AttentionKey&) = default;
};

AttentionKey key_of(const kernels::AttentionForward<kernels::BFloat16>& attention, int sms);
AttentionKey key_of(const kernels::AttentionBackward<kernels::BFloat16>& attention, int sms);

/// "forward b8 q1024 k1024 h12/12 d64 causal rows2304,2304,2304,768 sms16": one line, equal for equal keys.
std::string text_of(const AttentionKey& key);

/// Workspace that cuDNN's deterministic backward needs at most: gradients of all scores in bf16, and where heads share
/// keys, those of every head (seen in cuDNN 9.19: rows round up to 64 or 128).
std::int64_t attention_workspace_bytes(const kernels::AttentionShape& shape);

/// Returns the part of the workspace in which log sums by head may lie: its end.
std::int64_t log_sums_bytes(const AttentionKey& key);

/// Returns why a version of cuDNN (91900: 9.19.0) is not asked for this attention; empty: it is. These are limits that
/// its release notes and NVIDIA's own front end state, not what the library itself says when it is asked.
std::string not_asked_because(const AttentionKey& key, std::size_t version);

}  // namespace plumb::cuda
