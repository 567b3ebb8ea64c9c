#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/fuzz/promise.hpp"
#include "tools/formats/schedule_formats.hpp"

/// Any text is a schedule that can be checked, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const ScheduleFormat& format = schedule_format("text", {});
  return testing::read_or_refuse([&] { return format.read(testing::text_of(data, size), "fuzz.txt"); },
                                 [](const Schedule& schedule) {
                                   if (schedule.num_microbatches > 1'000'000) return;
                                   testing::read_or_refuse([&] { return validate(schedule); }, [](const auto&) {});
                                 });
}
