#pragma once

#include <cstdint>

#include "models/jobs/job_shape.hpp"

namespace plumb::testing {

// Layers and microbatches that are small enough for their kernels and activations to be worked out by hand.

inline constexpr std::int64_t kRowsOfTwo = 512;  // tokens of a microbatch: two samples of 256

/// A job whose microbatches are two samples of 256 tokens.
inline JobShape shape_of_two(const Parallelism& job) {
  Network network;
  network.sequence = 256;
  network.samples = 2;
  return {network, job};
}

/// Bytes of `features` 16-bit numbers for each token.
inline std::int64_t bytes_of(std::int64_t features) { return 2 * kRowsOfTwo * features; }

/// Of eight experts each token is sent to two.
inline LayerSpec eight_experts() {
  return {.kind = LayerKind::kMoe,
          .name = "m",
          .width = 16,
          .hidden = 32,
          .experts = 8,
          .experts_per_token = 2,
          .bias = false};
}

/// 12 + 20 + 8 latent columns; of each of 4 heads 16 + 8 columns of queries and of keys, and 10 of values.
inline LayerSpec four_latent_heads() {
  return {.kind = LayerKind::kLatentAttention,
          .name = "l",
          .width = 64,
          .heads = 4,
          .query_rank = 12,
          .key_rank = 20,
          .head_width = 16,
          .rotary_width = 8,
          .value_width = 10};
}

}  // namespace plumb::testing
