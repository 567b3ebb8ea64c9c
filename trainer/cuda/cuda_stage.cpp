#include "trainer/cuda/cuda_stage.hpp"

#include "trainer/cuda/layers/device_stage.hpp"
#include "trainer/cuda/lt_products.hpp"

namespace plumb {

std::unique_ptr<StageBackend> make_cuda_stage(NumberType type, const StageSpec& spec) {
  const StreamPlace& place = spec.place;
  auto products = std::make_unique<cuda::LtProducts>(cuda::LtPlace{.sms = place.sms,
                                                                   .workspace = place.product_workspace,
                                                                   .workspace_bytes = place.product_workspace_bytes,
                                                                   .table = place.product_table});
  return kernels::make_device_stage(type, spec, std::move(products));
}

std::int64_t cuda_scratch_bytes(NumberType type, const StageSpec& spec) {
  return kernels::device_scratch_bytes(type, spec);
}

}  // namespace plumb
