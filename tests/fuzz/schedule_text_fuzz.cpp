#include "schedules/checks/check_order.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/fuzz/promise.hpp"
#include "tools/formats/schedule_formats.hpp"

/// Any text is a schedule that can be checked, or is refused; then what can be read of it has an order or not.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const ScheduleFormat& format = schedule_format("text", {});
  const auto read = [&] {
    try {
      return format.read(testing::text_of(data, size), "fuzz.txt");
    } catch (const PartlyRead& partly) {
      check_order(partly.part());
      throw;
    }
  };
  return testing::read_or_refuse(read, [](const Schedule& schedule) {
    if (schedule.num_microbatches > 1'000'000) return;
    testing::read_or_refuse([&] { return validate(schedule); }, [](const auto&) {});
  });
}
