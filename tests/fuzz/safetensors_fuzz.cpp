#include <map>
#include <memory>
#include <string>

#include "tests/fuzz/promise.hpp"
#include "trainer/checkpoint/safetensors.hpp"

namespace {

/// Written down a second time, from the format's own page.
const std::map<std::string, std::size_t> kNumberBytes{{"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"I16", 2}, {"U16", 2},
                                                      {"F16", 2},  {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},
                                                      {"F64", 8},  {"I64", 8},  {"U64", 8}};

}  // namespace

/// Any bytes are a safetensors file whose tensors have the sizes that it says, or are refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] { return std::make_unique<SafetensorsFile>(std::string(testing::text_of(data, size)), "fuzz.safetensors"); },
      [&](const std::unique_ptr<SafetensorsFile>& file) {
        for (const auto& [name, tensor] : file->tensors()) {
          std::size_t bytes = kNumberBytes.at(tensor.dtype);
          for (const std::int64_t extent : tensor.shape) bytes *= static_cast<std::size_t>(extent);
          testing::promise(tensor.bytes.size() == bytes, "as many bytes as dtype and shape say");
          testing::promise(tensor.bytes.size() <= size, "no more than there are");
        }
      });
}
