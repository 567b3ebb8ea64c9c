#include <vector>

#include "models/sources/measured_messages.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a table of ping-pongs, whose sizes ascend and extend what a run measured, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] { return ping_pong_from_csv(testing::text_of(data, size), "fuzz.csv"); },
      [](const std::vector<PingPong>& table) {
        for (std::size_t i = 0; i < table.size(); ++i) {
          testing::promise(table[i].bytes >= 0 && (i == 0 || table[i].bytes > table[i - 1].bytes), "sizes ascend");
          testing::promise(table[i].time.p10_ns <= table[i].time.p90_ns, "percentiles are in order");
        }
        MeasuredMessages own;
        own.bytes = 1000;
        own.send = own.send_posted = own.receive = own.message = {.median_ns = 500, .p10_ns = 400, .p90_ns = 600};
        testing::read_or_refuse([&] { return with_ping_pong(own, table, true); },
                                [](const std::vector<MeasuredMessages>& sizes) {
                                  testing::promise(sizes.front().bytes > 0, "a message without bytes tells no size");
                                  const MessageTimes times = message_times(sizes, 5000);
                                  testing::promise(times.message_ns >= 0 && times.send_posted_ns >= 0,
                                                   "no time below 0");
                                });
      });
}
