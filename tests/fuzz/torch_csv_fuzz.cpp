#include <string_view>

#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a schedule, which can be checked and, when it is one of PyTorch's, written and read, or a refusal.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const std::string_view text = testing::text_of(data, size);
  return testing::read_or_refuse([&] { return schedule_from_torch_csv(text, "fuzz.csv"); },
                                 [](const Schedule& schedule) {
                                   testing::read_or_refuse([&] { return schedule_to_torch_csv(schedule); },
                                                           [](const auto&) {});
                                   if (schedule.num_microbatches > 1'000'000) return;
                                   testing::read_or_refuse([&] { return validate(schedule); }, [](const auto&) {});
                                 });
}
