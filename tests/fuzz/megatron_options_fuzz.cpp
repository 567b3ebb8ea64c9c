#include "schedules/formats/megatron.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is the options of a pipeline, or is refused. Large pipelines are left to the generators' own tests.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  constexpr std::size_t kLongestNumber = 2;
  const std::string_view text = testing::text_of(data, size);
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > kLongestNumber) return 0;
  }
  return testing::read_or_refuse(
      [&] { return schedule_from_megatron_options(text, "fuzz.megatron"); },
      [](const Schedule& schedule) {
        testing::promise(schedule.num_stages % schedule.num_devices == 0, "as many stages on every device");
        testing::promise(std::ssize(schedule.devices) == schedule.num_devices, "a list per device");
      });
}
