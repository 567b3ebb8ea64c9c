#include <string_view>

#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/fuzz/promise.hpp"

namespace {

/// Small enough to look at every action.
bool is_small(const plumb::Schedule& schedule) {
  std::int64_t total = 0;
  for (const plumb::DeviceList& list : schedule.devices) {
    const std::int64_t size = plumb::expanded_size(list);
    if (size > 10'000) return false;
    total += size;
  }
  return total <= 10'000;
}

}  // namespace

/// Any text is a document, which comes back as it was and can be checked, or a refusal.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const std::string_view text = testing::text_of(data, size);
  return testing::read_or_refuse([&] { return schedule_from_json(text, "fuzz.json"); },
                                 [](const Schedule& schedule) {
                                   const Schedule again = schedule_from_json(schedule_to_json(schedule), "again.json");
                                   testing::promise(again == schedule, "a document comes back as it was");
                                   if (!is_small(schedule)) return;
                                   testing::read_or_refuse([&] { return validate(schedule); }, [](const auto&) {});
                                 });
}
