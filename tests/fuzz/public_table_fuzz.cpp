#include <vector>

#include "tests/fuzz/promise.hpp"
#include "tools/studies/public/public_row.hpp"

/// Any text is a table of published measurements, whose rows give networks and jobs or the reason why not, or is
/// refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const auto read = [&] { return public_rows(testing::text_of(data, size), "vtrain.csv"); };
  return testing::read_or_refuse(read, [](const std::vector<PublicRow>& rows) {
    for (const PublicRow& row : rows) {
      if (row.layers > 1000 || !refusal(row).empty()) continue;
      testing::read_or_refuse([&] { return public_network(row); },
                              [](const Network& network) { testing::promise(!network.layers.empty(), "layers"); });
      testing::read_or_refuse([&] { return public_parallelism(row); }, [](const Parallelism&) {});
    }
  });
}
