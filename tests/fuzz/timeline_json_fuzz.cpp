#include <string>

#include "sim/timeline/timeline_io.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a timeline, which comes back as it was, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] { return timeline_from_json(std::string(testing::text_of(data, size)), "fuzz.json"); },
      [](const Timeline& timeline) {
        testing::promise(timeline_from_json(timeline_to_json(timeline), "again.json") == timeline, "the same timeline");
      });
}
