#include "models/stages/partition.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text cuts 12 layers into stages, in a way that comes back as it was, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  constexpr std::size_t kLayers = 12;
  return testing::read_or_refuse([&] { return parse_partition(testing::text_of(data, size), kLayers); },
                                 [](const Partition& partition) {
                                   testing::promise(partition.num_layers() == kLayers, "every layer in a stage");
                                   testing::promise(parse_partition(to_string(partition), kLayers) == partition,
                                                    "the same partition");
                                 });
}
