#pragma once

#include "models/kernels/matrix_format.hpp"

namespace plumb {

/// What a format of matrix products needs around them, beside its peak, as Transformer Engine's recipes do it.
struct FormatCosts {
  double number_bytes = 2;  ///< of one number with its part of the scales
  bool scans = false;       ///< the largest number of a tensor is looked for before it is cast (amax)
  bool two_copies = false;  ///< a tensor is kept by rows and by columns, because scales or layouts differ
  bool both_kept = false;   ///< weights keep both copies
  bool gathers = false;     ///< ZeRO gathers the weights in this format
};

/// bf16                  nothing
/// fp8 (delayed scales)  1 byte; the amax of earlier steps is known; a transposed copy for the weight gradient
/// fp8-current           1 byte; its own amax, read first and reduced over the ranks that share the tensor
/// fp8-block             1 byte and 4 per block of 128
/// mxfp8                 1 byte and 1 per block of 32 along the summed side, so two copies (OCP MX 1.0)
/// nvfp4                 half a byte and 1 per block of 16, under a scale per tensor, so an amax, too (NVIDIA 2025)
const FormatCosts& format_costs(MatrixFormat format);

}  // namespace plumb
