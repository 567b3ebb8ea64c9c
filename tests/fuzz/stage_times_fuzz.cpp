#include <cmath>
#include <vector>

#include "tests/fuzz/promise.hpp"
#include "tools/measured_steps/stage_times.hpp"

/// Any text is a table of what single passes of stages took, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse([&] { return measured_stage_passes(testing::text_of(data, size), "fuzz.csv"); },
                                 [](const std::vector<MeasuredStagePass>& passes) {
                                   for (const MeasuredStagePass& pass : passes) {
                                     testing::promise(
                                         std::string_view("FIWB").find(pass.pass) != std::string_view::npos, "a pass");
                                     testing::promise(std::isfinite(pass.seconds) && pass.seconds > 0, "a time");
                                   }
                                 });
}
