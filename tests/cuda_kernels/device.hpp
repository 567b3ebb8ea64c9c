#pragma once

#include <cstddef>
#include <memory>

#include "trainer/cuda/kernels/products/matrix_products.hpp"

// The device that the kernels are tested on: the emulated one (emulated_device.cpp), or a GPU
// (tests/gpu/real_device.cpp).

namespace plumb::kernels {

bool on_gpu();

/// Waits for everything that was launched. Throws Error with what failed.
void finish();

/// Ways to run a kernel whose bits must be the same: orders of threads and blocks where they can be chosen, repetitions
/// elsewhere. Way 0 is the usual one.
int ways();
void take_way(int number);

/// Whoever multiplies matrices there. GELU inside a product only if `fuses_gelu`.
std::unique_ptr<MatrixProducts> make_products(bool fuses_gelu);

/// Memory of the device that the host sees, too. It begins `shift` bytes after a multiple of 16 and starts as NaN.
/// Neither is there anything to read behind its end: on the emulated device a page that nobody may touch follows at the
/// next multiple of 16 bytes, and one goes before; a GPU has zones of NaN there, and compute-sanitizer.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes, std::size_t shift = 0);
  DeviceBytes(DeviceBytes&&) = default;
  DeviceBytes& operator=(DeviceBytes&&) = default;

  std::byte* begin() const { return begin_; }
  std::size_t size() const { return bytes_; }
  /// Whether nobody wrote right before or behind it. Waits for what was launched.
  bool intact() const;

 private:
  struct Free {
    std::size_t bytes;
    void operator()(std::byte* all) const;
  };
  std::size_t bytes_;
  std::byte* begin_ = nullptr;
  std::unique_ptr<std::byte, Free> all_;
};

}  // namespace plumb::kernels
