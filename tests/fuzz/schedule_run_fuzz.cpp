#include "models/costs/stage_costs.hpp"
#include "models/sources/abstract_costs.hpp"
#include "schedules/checks/validate.hpp"
#include "sim/simulate.hpp"
#include "tests/fuzz/promise.hpp"
#include "tools/formats/schedule_formats.hpp"

/// A valid schedule of a few actions runs in both engines to the same end, or is refused. Its text is the plain one,
/// in which a change of a byte is most often a change of the order.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  constexpr std::int32_t kMost = 64;
  const auto read = [&] { return schedule_format("text", {}).read(testing::text_of(data, size), "fuzz.txt"); };
  return testing::read_or_refuse(read, [](const Schedule& schedule) {
    if (schedule.num_microbatches > kMost || schedule.num_stages > kMost) return;
    const auto run = [&](EngineChoice engine) {
      const StageCosts costs = abstract_costs("F=1,I=2,W=3,comm=1", "F=2,I=-1,W=-1",
                                              {.num_stages = schedule.num_stages, .stages_together = 1});
      return simulate(lower(schedule, costs), {.engine = engine});
    };
    const auto is_valid = [&](const std::vector<Violation>& violations) {
      if (!violations.empty()) return;
      testing::read_or_refuse([&] { return run(EngineChoice::kEvent); },
                              [&](const Timeline& events) {
                                testing::read_or_refuse([&] { return run(EngineChoice::kPass); },
                                                        [&](const Timeline& passes) {
                                                          testing::promise(passes.makespan == events.makespan,
                                                                           "both engines end at the same time");
                                                        });
                              });
    };
    testing::read_or_refuse([&] { return validate(schedule); }, is_valid);
  });
}
