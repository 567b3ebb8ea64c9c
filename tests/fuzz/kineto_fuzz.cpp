#include <string>

#include "sim/traces/traced_run.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is the trace of one or more ranks, or is refused; the causes of idle time add up.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] {
        return read_traced_run({{"fuzz.json", std::string(testing::text_of(data, size))}}).timeline();
      },
      [](const Timeline& timeline) {
        for (const DeviceSummary& device : timeline.devices) {
          Ticks idle = 0;
          for (const Ticks part : device.idle_causes) idle += part;
          testing::promise(!device.known || device.busy + idle == timeline.makespan, "all time is busy or has a cause");
        }
      });
}
