#include <string>

#include "sim/traces/readers/gzip.hpp"
#include "tests/fuzz/promise.hpp"

/// Any bytes are a gzip file that unpacks to no more than is allowed, the same with a second member behind it, or are
/// refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  constexpr std::uint64_t kMost = 100'000;
  const std::string bytes(testing::text_of(data, size));
  return testing::read_or_refuse([&] { return gunzip(bytes, "fuzz.gz", kMost); },
                                 [&](const std::string& text) {
                                   testing::promise(text.size() <= kMost, "no more than is allowed");
                                   testing::promise(gunzip(bytes + bytes, "twice.gz", 2 * kMost) == text + text,
                                                    "members follow each other");
                                 });
}
