#include "sim/campaign/layout_steps.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a table of layouts, which come back as they were, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] { return layouts_from_json(std::string(testing::text_of(data, size)), "fuzz.json"); },
      [](const std::map<JobLayout, LayoutTable::Row>& rows) {
        const auto again = layouts_from_json(layouts_to_json(rows), "again.json");
        testing::promise(again.size() == rows.size(), "as many layouts");
        for (const auto& [layout, row] : rows) {
          testing::promise(again.at(layout).step.ns == row.step.ns, "the same steps");
          testing::promise(again.at(layout).step.samples == row.step.samples, "the same samples");
        }
      });
}
