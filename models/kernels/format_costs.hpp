#pragma once

#include <cstdint>

#include "models/kernels/matrix_format.hpp"

namespace plumb {

/// What a format of matrix products needs around them, beside its peak, as Transformer Engine's recipes do it.
struct FormatCosts {
  double number_bytes = 2;    ///< bytes of one number with its part of the scales
  bool scans = false;         ///< the largest number of a tensor is looked for before it is cast (amax)
  bool maker_scans = false;   ///< norms and activations look for it while they write the tensor
  std::int32_t launches = 1;  ///< kernels of one cast
  bool two_copies = false;    ///< a tensor is kept by rows and by columns, because scales or layouts differ
  bool layout_only = false;   ///< the second copy has the same scales, and is only there for products that want rows
  bool both_kept = false;     ///< weights keep both copies
  bool gathers = false;       ///< ZeRO gathers the weights in this format
};

/// bf16                  nothing
/// fp8 (delayed scales)  1 byte; the amax of earlier steps is known; a transposed copy for the weight gradient
/// fp8-current           1 byte; its own amax, reduced over the ranks that share the tensor: amax, scale, cast; norms
/// and
///                       activations find it as they write (since Transformer Engine 2.6)
/// fp8-block             1 byte and 4 per block of 128; weights are gathered in 16 bits
/// mxfp8                 1 byte and 1 per block of 32 along the summed side, so two copies (OCP MX 1.0), and a kernel
///                       that puts the scales in the order of the product
/// nvfp4                 half a byte and 1 per block of 16, under a scale per tensor, so an amax, too (NVIDIA 2025);
///                       weights are gathered in 16 bits (`fp8_param_gather` is off in Megatron-Bridge's recipe)
const FormatCosts& format_costs(MatrixFormat format);

}  // namespace plumb
