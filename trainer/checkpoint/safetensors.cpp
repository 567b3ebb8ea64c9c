#include "trainer/checkpoint/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/ground/text_file.hpp"
#include "trainer/ground/durable_file.hpp"

namespace plumb {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little endian");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // as the reference implementation

/// Returns the bytes of one number; 0 for a dtype that is not known.
std::int64_t number_bytes(std::string_view dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "BF16" || dtype == "F16" || dtype == "I16" || dtype == "U16") return 2;
  return dtype == "U8" || dtype == "I8" || dtype == "BOOL" ? 1 : 0;
}

/// Returns the bytes of a whole tensor; negative when they are not representable, or the dtype is not known.
std::int64_t tensor_bytes(std::string_view dtype, const std::vector<std::int64_t>& shape) {
  std::int64_t bytes = number_bytes(dtype);
  if (bytes == 0) return -1;
  for (const std::int64_t extent : shape) {
    if (extent != 0 && bytes > std::numeric_limits<std::int64_t>::max() / extent) return -1;
    bytes *= extent;
  }
  return bytes;
}

[[noreturn]] void throw_no_tensors(const std::string& name) {
  throw Error(name + ": not a safetensors file; expected 8 bytes with the length of a header, and the header");
}

/// Returns whether a file of `file_bytes` may begin with a header of `length` bytes.
bool is_header_length(std::uint64_t length, std::uint64_t file_bytes) {
  return file_bytes >= kLengthBytes && length >= 2 && length <= std::min(kLongestHeader, file_bytes - kLengthBytes);
}

/// Returns the whole file. What cannot be one is refused before gigabytes of it are read.
std::string read_tensors(const std::filesystem::path& path) {
  std::error_code unknown;
  const std::uint64_t bytes = std::filesystem::file_size(path, unknown);
  std::uint64_t length = 0;
  std::ifstream begin;
  if (!unknown) begin.open(path, std::ios::binary);  // a pipe has no size, and is read once
  std::array<char, kLengthBytes> first{};
  if (!unknown && begin.read(first.data(), kLengthBytes)) {
    std::memcpy(&length, first.data(), kLengthBytes);
    if (!is_header_length(length, bytes)) throw_no_tensors(path.string());
  }
  return read_text_file(path, kTensorsFile);
}

}  // namespace

// As text, because an object of the JSON library needs memory to be destroyed, too: an update that cannot be saved for
// lack of memory is then removed, instead of the program ended where it stands.
std::string safetensors_head(std::span<const TensorView> tensors) {
  const auto quoted = [](const std::string& word) { return nlohmann::json(word).dump(); };
  std::string text = "{";
  std::size_t at = 0;
  for (const TensorView& tensor : tensors) {
    assert(tensor_bytes(tensor.dtype, tensor.shape) == static_cast<std::int64_t>(tensor.bytes.size()));
    text +=
        (text.size() == 1 ? "" : ",") + quoted(tensor.name) + ":{\"dtype\":" + quoted(tensor.dtype) + ",\"shape\":[";
    for (const std::int64_t extent : tensor.shape) text += std::to_string(extent) + ",";
    if (!tensor.shape.empty()) text.pop_back();
    text += "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + tensor.bytes.size()) + "]}";
    at += tensor.bytes.size();
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  std::string head(kLengthBytes, '\0');
  std::memcpy(head.data(), &length, kLengthBytes);
  return head + text;
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors) {
  const std::string head = safetensors_head(tensors);
  DurableFile file(path);
  file.write(std::as_bytes(std::span(head)));
  for (const TensorView& tensor : tensors) file.write(tensor.bytes);
  file.close();
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : SafetensorsFile(read_tensors(path), path.string()) {}

SafetensorsFile::SafetensorsFile(std::string content, std::string name)
    : name_(std::move(name)), content_(std::move(content)) {
  std::uint64_t length = 0;
  if (content_.size() >= kLengthBytes) std::memcpy(&length, content_.data(), kLengthBytes);
  if (!is_header_length(length, content_.size())) throw_no_tensors(name_);
  head_bytes_ = kLengthBytes + static_cast<std::size_t>(length);
  const std::span data = std::as_bytes(std::span(content_)).subspan(head_bytes_);
  const JsonDocument document(content_.substr(kLengthBytes, static_cast<std::size_t>(length)), name_);
  for (const JsonValue::Member& member : document.root().members()) {
    if (member.key == "__metadata__") continue;
    Tensor tensor;
    tensor.dtype = member.value.at("dtype").text();
    for (const JsonValue& extent : member.value.at("shape").elements()) tensor.shape.push_back(extent.integer(0));
    const JsonValue offsets = member.value.at("data_offsets");
    if (offsets.size() != 2) offsets.fail("expected a begin and an end");
    std::array<std::int64_t, 2> range{};
    std::size_t i = 0;
    for (const JsonValue& offset : offsets.elements())
      range[i++] = offset.integer(0, static_cast<std::int64_t>(data.size()));
    if (range[1] < range[0] || range[1] - range[0] != tensor_bytes(tensor.dtype, tensor.shape)) {
      offsets.fail("does not fit dtype and shape");
    }
    tensor.bytes = data.subspan(static_cast<std::size_t>(range[0]), static_cast<std::size_t>(range[1] - range[0]));
    tensors_.emplace(std::string(member.key), std::move(tensor));
  }
  check_every_byte_is_one_tensors(data);
}

void SafetensorsFile::check_every_byte_is_one_tensors(std::span<const std::byte> data) const {
  std::vector<std::pair<const std::byte*, std::string_view>> begins;
  for (const auto& [name, tensor] : tensors_) {
    if (!tensor.bytes.empty()) begins.emplace_back(tensor.bytes.data(), name);
  }
  std::ranges::sort(begins);
  const std::byte* at = data.data();
  std::string before = "the data begins";
  for (const auto& [begin, name] : begins) {
    if (begin != at) {
      throw Error(name_ + ": tensor '" + std::string(name) + "' begins at byte " + std::to_string(begin - data.data()) +
                  " of the data, expected " + std::to_string(at - data.data()) + ", where " + before);
    }
    at = begin + tensors_.find(std::string(name))->second.bytes.size();
    before = "'" + std::string(name) + "' ends";
  }
  if (const auto rest = data.data() + data.size() - at; rest != 0) {
    throw Error(name_ + ": " + std::to_string(rest) + " bytes behind the last tensor, expected none");
  }
}

const SafetensorsFile::Tensor& SafetensorsFile::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw Error(name_ + ": has no tensor '" + name + "'");
  return found->second;
}

}  // namespace plumb
