#include <algorithm>

#include "schedules/document/schedule_io.hpp"
#include "schedules/phases/phase_rules.hpp"
#include "tests/fuzz/promise.hpp"

namespace {

/// Whether expanding could take seconds: large numbers, or many loops in each other.
bool is_long(std::string_view text) {
  int digits = 0;
  int loops = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
    loops += text.substr(i).starts_with("for") ? 1 : 0;
    if (digits > 2 || loops > 2) return true;
  }
  return false;
}

}  // namespace

/// Any text is rules that expand, for two devices and three microbatches, to a document that comes back when it is
/// written and read, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  if (is_long(testing::text_of(data, size))) return 0;
  return testing::read_or_refuse(
      [&] {
        return schedule_from_rules(testing::text_of(data, size), "fuzz.rules",
                                   {.num_devices = 2, .num_microbatches = 3});
      },
      [](const Schedule& schedule) {
        testing::promise(schedule_from_json(schedule_to_json(schedule), "again.json") == schedule, "the same document");
      });
}
