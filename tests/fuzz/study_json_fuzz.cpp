#include <string>

#include "tests/fuzz/promise.hpp"
#include "tools/studies/pipemare/study.hpp"

/// Any text is a study of tasks and methods, each pair of them a command or the reason why not, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const auto read = [&] { return study_from_json(std::string(testing::text_of(data, size)), "fuzz.json"); };
  return testing::read_or_refuse(read, [](const Study& study) {
    for (const StudyTask& task : study.tasks) {
      for (const StudyMethod& method : study.methods) {
        testing::read_or_refuse([&] { return study_command(task, method); }, [](const std::string&) {});
      }
    }
  });
}
