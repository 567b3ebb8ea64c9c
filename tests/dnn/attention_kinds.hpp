#pragma once

#include "trainer/cuda/dnn/attention_key.hpp"

namespace plumb::cuda {

/// An attention as the layers ask for it: rows q | k | v, or keys and values gathered where slices go before.
struct AttentionKind {
  std::int64_t samples = 1;
  std::int64_t sequence = 64;
  std::int64_t before = 0;
  std::int64_t heads = 1;
  std::int64_t group = 1;
  std::int64_t head_width = 64;
  bool causal = true;
};

inline kernels::AttentionShape shape_of(const AttentionKind& kind) {
  return {.samples = kind.samples,
          .sequence = kind.sequence,
          .before = kind.before,
          .heads = kind.heads,
          .group = kind.group,
          .head_width = kind.head_width,
          .causal = kind.causal};
}

inline AttentionKey key_of(const AttentionKind& kind, bool backward) {
  const std::int64_t width = kind.heads * kind.head_width;
  const std::int64_t keys_width = 2 * width / kind.group;
  const std::int64_t row = width + keys_width;
  const std::int64_t key_row = kind.before > 0 ? keys_width : row;
  AttentionKey key{.backward = backward,
                   .causal = kind.causal,
                   .samples = kind.samples,
                   .queries = kind.sequence,
                   .keys = kind.before + kind.sequence,
                   .heads = kind.heads,
                   .kv_heads = kind.heads / kind.group,
                   .head_width = kind.head_width,
                   .query_row = row,
                   .key_row = key_row,
                   .value_row = key_row,
                   .attended_row = width};
  if (!backward) return key;
  key.attended_grad_row = width;
  key.query_grad_row = row;
  key.key_grad_row = key_row;
  key.value_grad_row = key_row;
  return key;
}

}  // namespace plumb::cuda
