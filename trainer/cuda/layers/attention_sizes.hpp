#pragma once

#include <cstdint>

#include "models/network/layer_shape.hpp"
#include "models/network/network.hpp"
#include "trainer/cuda/kernels/attention/attention.hpp"

namespace plumb::kernels {

/// How queries, keys and values lie side by side in a row q | k | v.
struct AttentionSizes {
  std::int64_t width;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t head_width;
  std::int64_t row;         ///< numbers of q | k | v
  std::int64_t keys_width;  ///< of k | v

  explicit AttentionSizes(const LayerSpec& spec)
      : width(spec.width),
        heads(spec.heads),
        kv_heads(spec.kv_heads == 0 ? spec.heads : spec.kv_heads),
        head_width(spec.width / spec.heads),
        row(qkv_width(spec)),
        keys_width(row - width) {}

  AttentionShape shape(const MicrobatchShape& of, bool causal) const {
    return {.samples = of.samples,
            .sequence = of.sequence,
            .before = of.before,
            .heads = heads,
            .group = heads / kv_heads,
            .head_width = head_width,
            .causal = causal};
  }
};

/// Gives out pieces of scratch, each at a multiple of 256 bytes.
class ScratchPieces {
 public:
  explicit ScratchPieces(std::byte* begin) : at_(begin) {}

  template <class U>
  U* take(std::int64_t count) {
    auto* piece = reinterpret_cast<U*>(at_);
    at_ += bytes<U>(count);
    return piece;
  }
  template <class U>
  static std::int64_t bytes(std::int64_t count) {
    return (count * static_cast<std::int64_t>(sizeof(U)) + 255) / 256 * 256;
  }

 private:
  std::byte* at_;
};

}  // namespace plumb::kernels
