#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace plumb {

/// A tensor to be written: dtype "F32", "F64" or "U8", and its bytes in row-major order, little endian.
struct TensorView {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Writes a safetensors file: 8 bytes with the length of the header, the header (JSON, padded with spaces to a multiple
/// of 8), the tensors one after the other. The file is flushed to the disk. Names must be unique. Throws `Error` with
/// the reason when it cannot be written; a partial file is then left for the caller to remove.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors);

/// A safetensors file in memory.
class SafetensorsFile {
 public:
  struct Tensor {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;  ///< of the file
  };

  /// Throws `Error` naming the file and what is wrong with it.
  explicit SafetensorsFile(const std::filesystem::path& path);
  /// The same for the content of a file called `name`.
  SafetensorsFile(std::string content, std::string name);
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  /// The tensor called `name`. Throws `Error` when there is none.
  const Tensor& at(const std::string& name) const;
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

 private:
  std::string name_;
  std::string content_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace plumb
