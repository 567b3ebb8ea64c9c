#include <string>

#include "sim/traces/readers/megatron_timers.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a log with timers of Megatron-LM, or is refused; no rank is busy longer than the step lasts.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse([&] { return read_timer_log(testing::text_of(data, size), "fuzz.log"); },
                                 [](const std::vector<Timeline>& timelines) {
                                   testing::promise(!timelines.empty(), "a log that is read has a step");
                                   for (const Timeline& timeline : timelines) {
                                     for (const DeviceSummary& device : timeline.devices) {
                                       testing::promise(device.busy + device.idle == timeline.makespan,
                                                        "all time is busy or idle");
                                     }
                                   }
                                 });
}
