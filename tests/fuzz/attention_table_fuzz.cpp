#include <string>

#include "tests/fuzz/promise.hpp"
#include "trainer/cuda/dnn/dnn_table.hpp"

/// Any text is the table of a machine's attention, which is read again as it was, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const auto read = [](std::string_view text) {
    cuda::DnnTable table("attention", "cuDNN 9.19.0, NVIDIA H200");
    table.read(text, "fuzz.txt");
    return table.text();
  };
  return testing::read_or_refuse(
      [&] { return read(testing::text_of(data, size)); },
      [&](const std::string& text) { testing::promise(read(text) == text, "the same table"); });
}
