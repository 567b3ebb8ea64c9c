#include "models/network/network_io.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a network, which comes back as it was, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] { return network_from_json(testing::text_of(data, size), "fuzz.json"); },
      [](const Network& network) {
        testing::promise(network_from_json(network_to_json(network), "again.json") == network, "the same network");
      });
}
