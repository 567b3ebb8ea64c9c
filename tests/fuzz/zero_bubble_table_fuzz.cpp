#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/formats/zero_bubble_table.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a schedule that can be checked and, where it is valid, comes back from the table that it is written as;
/// or it is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  bool valid = false;
  const auto read = [&] {
    Schedule schedule = schedule_from_zero_bubble_table(testing::text_of(data, size), "fuzz.py");
    valid = validate(schedule).empty();  // refuses absurd sizes
    return schedule;
  };
  return testing::read_or_refuse(read, [&](const Schedule& schedule) {
    if (!valid) return;
    const Schedule again = schedule_from_zero_bubble_table(schedule_to_zero_bubble_table(schedule), "fuzz.py");
    testing::promise(again == schedule, "a table comes back as it was");
  });
}
