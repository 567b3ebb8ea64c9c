#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace plumb {

/// Writes values one after the other, as the bytes that they have in this program's memory.
class PacketWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T> PacketWriter& put(const T& value) {
    return put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  /// The number of values, then the values.
  template <class T>
  requires std::is_trivially_copyable_v<T> PacketWriter& put_all(std::span<const T> values) {
    put(static_cast<std::uint64_t>(values.size()));
    return put_bytes(std::as_bytes(values));
  }
  PacketWriter& put_text(const std::string& text) { return put_all(std::span<const char>(text)); }
  PacketWriter& put_bytes(std::span<const std::byte> bytes) {
    const std::size_t before = bytes_.size();
    bytes_.resize(before + bytes.size());
    if (!bytes.empty()) std::memcpy(bytes_.data() + before, bytes.data(), bytes.size());
    return *this;
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads the values of a `PacketWriter`, in the same order. The bytes must outlive it.
class PacketReader {
 public:
  explicit PacketReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value{};
    std::memcpy(&value, next(sizeof(T)).data(), sizeof(T));
    return value;
  }
  template <class T>
  requires std::is_trivially_copyable_v<T> std::vector<T> get_all() {
    std::vector<T> values(static_cast<std::size_t>(get<std::uint64_t>()));
    const std::span<const std::byte> bytes = next(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::string get_text() {
    const std::vector<char> text = get_all<char>();
    return {text.begin(), text.end()};
  }
  /// Returns a view of bytes that `put_all` has written.
  std::span<const std::byte> get_view() { return next(static_cast<std::size_t>(get<std::uint64_t>())); }
  /// Returns the bytes that were not read yet.
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> next(std::size_t size) {
    if (size > rest_.size()) throw std::logic_error("a packet ends too early");
    const std::span<const std::byte> bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return bytes;
  }

  std::span<const std::byte> rest_;
};

}  // namespace plumb
