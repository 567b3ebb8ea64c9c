#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// A tensor to be written: dtype "F32", "F64" or "U8", and its bytes in row-major order, little endian.
struct TensorView {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Returns what a safetensors file of these tensors begins with: 8 bytes with the length of the header, and the header
/// (JSON, padded with spaces to a multiple of 8).
std::string safetensors_head(std::span<const TensorView> tensors);

/// Writes a safetensors file: its head, and the tensors one after the other. The file is flushed to the disk. Names
/// must be unique. Throws `Error` with the reason when it cannot be written; a partial file is then left for the caller
/// to remove.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors);

/// A safetensors file in memory.
class SafetensorsFile {
 public:
  struct Tensor {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;  ///< bytes of the file
  };

  /// Throws `Error` naming the file and what is wrong with it.
  explicit SafetensorsFile(const std::filesystem::path& path);
  /// Reads the content of a file called `name`.
  SafetensorsFile(std::string content, std::string name);
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  /// Returns the tensor called `name`. Throws `Error` when there is none.
  const Tensor& at(const std::string& name) const;
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  /// Returns everything before the first tensor.
  std::string_view head() const { return std::string_view(content_).substr(0, head_bytes_); }
  /// Returns the bytes of the whole file.
  std::size_t size() const { return content_.size(); }

 private:
  /// Checks that there are no gaps and overlaps, as the format's reference implementation asks. Throws `Error`
  /// otherwise.
  void check_every_byte_is_one_tensors(std::span<const std::byte> data) const;

  std::string name_;
  std::string content_;
  std::size_t head_bytes_ = 0;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace plumb
