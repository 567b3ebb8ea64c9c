#include <string>
#include <vector>

#include "tests/fuzz/promise.hpp"
#include "tools/studies/pipemare/study_plan.hpp"

/// Any text is a study of tasks and methods, each pair of them at every rate, K and D a command or the reason why not,
/// or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const auto read = [&] { return study_from_json(std::string(testing::text_of(data, size)), "fuzz.json"); };
  return testing::read_or_refuse(read, [](const Study& study) {
    // Every run that is planned first is one of the study.
    for (const PlannedRun& run : planned_runs(study, {}, {})) {
      testing::promise(run.method->is_tried_on(*run.task) && run.seed == 0, "a first seed of a method on its task");
    }
    for (const StudyTask& task : study.tasks) {
      for (const StudyMethod& method : study.methods) {
        for (const std::string& rate : task.rates) {
          std::vector<StudySetting> settings = other_settings(task, method, rate);
          settings.push_back(rule_setting(task, method, rate));
          for (const StudySetting& setting : settings) {
            testing::read_or_refuse([&] { return study_command(task, method, setting); }, [](const std::string&) {});
          }
        }
      }
    }
  });
}
