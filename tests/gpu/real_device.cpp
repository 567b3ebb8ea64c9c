#include <algorithm>
#include <cstring>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/cuda_kernels/device.hpp"
#include "trainer/cuda/cuda_call.hpp"
#include "trainer/cuda/lt_products.hpp"

namespace plumb::kernels {

namespace {

constexpr std::size_t kZone = 256;
constexpr std::int64_t kProductBytes = std::int64_t{32} << 20;

std::byte* managed(std::size_t bytes) {
  void* data = nullptr;
  PLUMB_CUDA_CALL(cudaMallocManaged(&data, bytes));
  return static_cast<std::byte*>(data);
}

/// cuBLASLt with room of its own, GELU in its epilogue only when that is wanted.
class GpuProducts final : public MatrixProducts {
 public:
  explicit GpuProducts(bool fuses_gelu)
      : fuses_gelu_(fuses_gelu),
        products_({.sms = 0, .workspace = workspace(), .workspace_bytes = kProductBytes, .table = nullptr}) {}

  void run(const MatrixProduct& product, Stream stream) override { products_.run(product, stream); }
  bool fuses(const MatrixProduct& product) const override {
    const bool gelu = product.epilogue == Epilogue::kGelu || product.epilogue == Epilogue::kGeluGrad;
    return (!gelu || fuses_gelu_) && products_.fuses(product);
  }

 private:
  /// Kernels of the tests run one after the other: one for all.
  static std::byte* workspace() {
    static std::byte* const all = managed(kProductBytes);
    return all;
  }

  bool fuses_gelu_;
  cuda::LtProducts products_;
};

}  // namespace

bool on_gpu() { return true; }
void finish() { PLUMB_CUDA_CALL(cudaDeviceSynchronize()); }
int ways() { return 3; }
void take_way(int) {}
std::unique_ptr<MatrixProducts> make_products(bool fuses_gelu) { return std::make_unique<GpuProducts>(fuses_gelu); }

DeviceBytes::DeviceBytes(std::size_t bytes, std::size_t shift) : bytes_(bytes) {
  const std::size_t whole = bytes + shift + 2 * kZone;
  finish();
  all_ = {managed(whole), Free{whole}};
  std::memset(all_.get(), 0xFF, whole);
  begin_ = all_.get() + kZone + shift;
}

void DeviceBytes::Free::operator()(std::byte* all) const { cudaFree(all); }

bool DeviceBytes::intact() const {
  finish();
  const auto untouched = [](const std::byte* from) {
    return std::all_of(from, from + kZone, [](std::byte b) { return b == std::byte{0xFF}; });
  };
  return untouched(begin_ - kZone) && untouched(begin_ + bytes_);
}

}  // namespace plumb::kernels
