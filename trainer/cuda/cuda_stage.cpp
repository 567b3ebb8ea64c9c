#include "trainer/cuda/cuda_stage.hpp"

#include <algorithm>

#include "trainer/cuda/dnn/attention_key.hpp"
#include "trainer/cuda/dnn/convolution_key.hpp"
#include "trainer/cuda/dnn_attention.hpp"
#include "trainer/cuda/dnn_convolution.hpp"
#include "trainer/cuda/layers/device_stage.hpp"
#include "trainer/cuda/lt_products.hpp"

namespace plumb {

namespace {

/// Returns the bytes that cuDNN wants after the scratch of the layers, for one pass at a time; 0: nobody asks it.
std::int64_t dnn_bytes(NumberType type, const StageSpec& spec) {
  std::int64_t most = 0;
  if (type != NumberType::kBFloat16) return most;
  if (spec.place.attention != nullptr) {
    for (const auto& shape : kernels::attention_shapes(spec)) {
      most = std::max(most, cuda::attention_workspace_bytes(shape));
    }
  }
  if (spec.place.convolutions != nullptr) {
    for (const auto& shape : kernels::convolution_shapes(spec)) {
      most = std::max(most, cuda::convolution_workspace_bytes(shape));
    }
  }
  return most;
}

std::int64_t layer_bytes(NumberType type, const StageSpec& spec) {
  return (kernels::device_scratch_bytes(type, spec) + 255) / 256 * 256;
}

}  // namespace

std::unique_ptr<StageBackend> make_cuda_stage(NumberType type, const StageSpec& spec) {
  const StreamPlace& place = spec.place;
  auto products = std::make_unique<cuda::LtProducts>(cuda::LtPlace{.sms = place.sms,
                                                                   .workspace = place.product_workspace,
                                                                   .workspace_bytes = place.product_workspace_bytes,
                                                                   .table = place.product_table});
  kernels::OtherUnits others;
  if (const std::int64_t bytes = dnn_bytes(type, spec); bytes > 0) {
    const cuda::DnnPlace at{
        .sms = place.sms, .workspace = place.scratch + layer_bytes(type, spec), .workspace_bytes = bytes};
    if (place.attention != nullptr) others.attention = place.attention->units(at);
    if (place.convolutions != nullptr) others.convolutions = place.convolutions->units(at);
  }
  return kernels::make_device_stage(type, spec, std::move(products), std::move(others));
}

std::int64_t cuda_scratch_bytes(NumberType type, const StageSpec& spec) {
  return layer_bytes(type, spec) + dnn_bytes(type, spec);
}

}  // namespace plumb
