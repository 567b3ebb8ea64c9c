#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/cuda/kernels/attention/attention_units.hpp"
#include "trainer/cuda/kernels/convolution_units.hpp"
#include "trainer/cuda/kernels/products/matrix_products.hpp"
#include "trainer/stages/backend.hpp"

namespace plumb::kernels {

/// Null: our kernels.
struct OtherUnits {
  std::unique_ptr<AttentionUnits> attention = nullptr;
  std::unique_ptr<ConvolutionUnits> convolutions = nullptr;
};

/// A stage's arithmetic on the stream of `spec.place`, in float32 or bf16: blocks, weights, gradients and state are in
/// the device's memory, ids and loss where it reads and writes them. Passes and updates are only put on the stream;
/// what returns numbers waits for them. Methods' arithmetic on weights (`apply`, `products`, `scale`) is float32's.
/// Throws Error for numbers or layers without arithmetic here. `others`: who computes what in place of our kernels.
std::unique_ptr<StageBackend> make_device_stage(NumberType type, const StageSpec& spec,
                                                std::unique_ptr<MatrixProducts> products, OtherUnits others = {});

/// Bytes at `StreamPlace::scratch` that the stage needs.
std::int64_t device_scratch_bytes(NumberType type, const StageSpec& spec);

/// The attention of every layer of the stage that has any.
std::vector<AttentionShape> attention_shapes(const StageSpec& spec);

/// Every convolution of the stage that others than our kernels are asked for.
std::vector<ConvolutionShape> convolution_shapes(const StageSpec& spec);

}  // namespace plumb::kernels
