#pragma once

#include <cstdint>

#include "models/jobs/parallelism.hpp"
#include "models/network/network.hpp"

namespace plumb {

/// Sizes of one microbatch on one device.
struct JobShape {
  Parallelism parallelism;
  std::int64_t samples = 1;
  std::int64_t sequence = 1;  ///< tokens of a whole sample
  bool any_layout = false;    ///< products in 8 bits read operands by rows or by columns (`KernelRates`)

  JobShape(const Network& network, const Parallelism& job);

  /// Returns the tokens of a device in attention and MLP, and in norms and sums.
  std::int64_t tokens() const { return samples * sequence / parallelism.context; }
  std::int64_t norm_tokens() const { return parallelism.sequence_parallel ? tokens() / parallelism.tensor : tokens(); }
  std::int64_t number_bytes() const { return parallelism.precision.activation_bytes; }
  /// Returns the bytes of `features` numbers for each of `count` tokens.
  double bytes(std::int64_t count, std::int64_t features) const {
    return static_cast<double>(count) * static_cast<double>(features) * static_cast<double>(number_bytes());
  }
  /// Returns the bytes of the scores of attention on one device, with one byte each.
  double scores(const LayerSpec& layer) const;
  /// Returns the tokens that a device sends to their experts: its part of a sequence that is divided, or all.
  std::int64_t dispatched_tokens() const { return norm_tokens(); }
  /// Returns the copies of tokens that the experts of a device take, if it is the fullest one.
  std::int64_t expert_tokens(const LayerSpec& layer) const;
  /// Returns whether dropout keeps masks: as the job says, else in layers whose products have biases.
  bool masks(const LayerSpec& layer) const;
};

/// Returns the shape of the job with layers sharded as by ZeRO 3.
JobShape fully_sharded(JobShape shape);

/// Returns whether the layer's output goes through dropout before it is added.
bool keeps_mask(LayerKind kind);

}  // namespace plumb
