#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "tests/cuda_kernels/cpu_products.hpp"
#include "tests/cuda_kernels/device.hpp"
#include "tests/support/cuda_on_cpu/block.hpp"

namespace plumb::kernels {

namespace {

constexpr std::byte kNan{0xFF};
constexpr std::size_t kPage = 4096;
constexpr std::array kOrders{cuda_on_cpu::Order::kForward, cuda_on_cpu::Order::kShuffled,
                             cuda_on_cpu::Order::kWarpsAhead};

std::size_t pages_for(std::size_t bytes) { return (bytes + 15 + 16 + kPage - 1) / kPage * kPage; }

}  // namespace

bool on_gpu() { return false; }
void finish() {}
int ways() { return static_cast<int>(kOrders.size()); }
void take_way(int number) { cuda_on_cpu::set_order(kOrders.at(static_cast<std::size_t>(number))); }
std::unique_ptr<MatrixProducts> make_products(bool fuses_gelu) { return std::make_unique<CpuProducts>(fuses_gelu); }

DeviceBytes::DeviceBytes(std::size_t bytes, std::size_t shift) : bytes_(bytes) {
  const std::size_t usable = pages_for(bytes);
  const std::size_t whole = usable + 2 * kPage;
  void* all = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  all_ = {static_cast<std::byte*>(all), Free{whole}};
  std::byte* first = all_.get() + kPage;
  if (mprotect(first, usable, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  std::memset(first, 0xFF, usable);
  begin_ = first + (usable - bytes - shift) / 16 * 16 + shift;
}

void DeviceBytes::Free::operator()(std::byte* all) const { munmap(all, bytes); }

bool DeviceBytes::intact() const {
  const auto untouched = [](const std::byte* from, const std::byte* to) {
    return std::all_of(from, to, [](std::byte b) { return b == kNan; });
  };
  const std::byte* first = all_.get() + kPage;
  return untouched(first, begin_) && untouched(begin_ + bytes_, first + pages_for(bytes_));
}

}  // namespace plumb::kernels
