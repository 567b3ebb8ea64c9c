#include "trainer/memory/device_memory.hpp"

#include <cstring>
#include <new>

#include "models/ground/huge_pages.hpp"

namespace plumb {
namespace {

constexpr std::align_val_t kAlignment{64};

class HostMemory : public DeviceMemory {
 public:
  std::byte* reserve(std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>(bytes);
    void* fresh = ::operator new(size, kAlignment);
    prefer_huge_pages(fresh, size);
    return static_cast<std::byte*>(fresh);
  }

  void give_back(std::byte* storage) override { ::operator delete(storage, kAlignment); }

  void fill(std::span<std::byte> bytes, std::byte value) override {
    if (!bytes.empty()) std::memset(bytes.data(), static_cast<int>(value), bytes.size());
  }

  void copy(std::byte* to, std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  }

  std::span<const std::byte> view(std::span<const std::byte> from, std::vector<std::byte>&) override { return from; }
  void write(std::byte* to, std::span<const std::byte> from) override { copy(to, from); }
};

}  // namespace

DeviceMemory& host_memory() {
  static HostMemory memory;
  return memory;
}

}  // namespace plumb
