#pragma once

#include "models/kernels/kernel_rates.hpp"

namespace plumb::testing {

/// Rates whose times can be written down: half the peak, no overheads.
inline KernelRates plain_rates() {
  KernelRates rates;
  rates.gemm_efficiency = rates.attention_forward = rates.attention_backward = 0.5;
  rates.tile_m = rates.tile_n = 1;
  rates.set_memory_shares(1);
  rates.kernel_ns = 0;
  return rates;
}

}  // namespace plumb::testing
