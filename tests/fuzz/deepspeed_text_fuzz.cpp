#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a schedule of one stage per device that can be checked, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] { return schedule_from_deepspeed(testing::text_of(data, size), "fuzz.deepspeed"); },
      [](const Schedule& schedule) {
        testing::promise(schedule.num_devices == schedule.num_stages, "a stage per device");
        testing::promise(schedule.devices.size() == static_cast<std::size_t>(schedule.num_devices),
                         "a list per device");
        validate(schedule);
      });
}
