#include <vector>

#include "tests/fuzz/promise.hpp"
#include "tools/studies/planner_scores.hpp"
#include "tools/studies/planners_study.hpp"

/// Any text is a list of published plans, or of profiles to plan for, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const std::string_view text = testing::text_of(data, size);
  testing::read_or_refuse([&] { return scored_profiles(text, "fuzz.json"); }, [](const auto&) {});
  return testing::read_or_refuse([&] { return planner_cases(text, "fuzz.json"); },
                                 [](const std::vector<PlannerCase>& cases) {
                                   for (const PlannerCase& asked : cases) {
                                     testing::promise(!asked.command.empty(), "a command");
                                   }
                                 });
}
