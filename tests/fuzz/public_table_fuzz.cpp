#include <vector>

#include "tests/fuzz/promise.hpp"
#include "tools/measured_steps/measured_step.hpp"

/// Any text is a table of published measurements, whose rows give networks and jobs or the reason why not, or is
/// refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const auto read = [&] { return measured_steps(testing::text_of(data, size), "vtrain.csv"); };
  return testing::read_or_refuse(read, [](const std::vector<MeasuredStep>& rows) {
    for (const MeasuredStep& row : rows) {
      if (row.layers > 1000 || !refusal(row).empty()) continue;
      testing::read_or_refuse([&] { return step_network(row); },
                              [](const Network& network) { testing::promise(!network.layers.empty(), "layers"); });
      testing::read_or_refuse([&] { return step_parallelism(row); }, [](const Parallelism&) {});
    }
  });
}
