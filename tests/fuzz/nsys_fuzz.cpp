#include <string>

#include "sim/traces/readers/nsys.hpp"
#include "sim/traces/traced_run.hpp"
#include "tests/fuzz/promise.hpp"

/// Any bytes are a database of Nsight Systems, or are refused; the causes of idle time add up.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const std::string bytes = "SQLite format 3" + std::string(testing::text_of(data, size));
  testing::read_or_refuse([&] { return read_nsys(bytes, "fuzz.sqlite"); },
                          [](const std::vector<RankTrace>& traces) {
                            for (const RankTrace& trace : traces) {
                              for (const TraceRange& range : trace.ranges) {
                                testing::promise(range.start_ns <= range.end_ns, "a range ends after its begin");
                              }
                            }
                          });
  return testing::read_or_refuse(
      [&] {
        return read_traced_run({{"fuzz.sqlite", bytes}}).timeline();
      },
      [](const Timeline& timeline) {
        for (const DeviceSummary& device : timeline.devices) {
          Ticks idle = 0;
          for (const Ticks part : device.idle_causes) idle += part;
          testing::promise(!device.known || device.busy + idle == timeline.makespan, "all time is busy or has a cause");
        }
      });
}
