#include "models/import/model_config.hpp"
#include "models/network/network_io.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a configuration whose network comes back from our document as it was, or it is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const auto read = [&] { return network_from_model_config(testing::text_of(data, size), "model/config.json"); };
  return testing::read_or_refuse(read, [](const Network& network) {
    testing::promise(network_from_json(network_to_json(network), "again.json") == network, "a network comes back");
  });
}
