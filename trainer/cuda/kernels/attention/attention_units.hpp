#pragma once

#include "trainer/cuda/kernels/attention/attention.hpp"
#include "trainer/numbers/number.hpp"

namespace plumb::kernels {

/// Attention in bf16 by somebody else than our kernels, which answer for what it refuses. Log sums are those of
/// `AttentionForward` whoever makes them, so one may go forward and the other back.
class AttentionUnits {
 public:
  virtual ~AttentionUnits() = default;
  /// Puts it on the stream and returns true, or does nothing and returns false. Throws Error when the device fails.
  virtual bool forward(const AttentionForward<BFloat16>& attention, Stream stream) = 0;
  virtual bool backward(const AttentionBackward<BFloat16>& attention, Stream stream) = 0;
};

}  // namespace plumb::kernels
