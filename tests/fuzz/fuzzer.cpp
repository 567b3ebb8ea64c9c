#include <cstddef>
#include <cstdint>

// The entry of libFuzzer, around the target that the build names. A target is compiled once, under a name of its own,
// for its fuzzer and for the unit test of all corpora.

extern "C" int PLUMB_FUZZ_TARGET(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return PLUMB_FUZZ_TARGET(data, size);
}
