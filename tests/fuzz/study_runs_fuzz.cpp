#include <string>
#include <vector>

#include "tests/fuzz/promise.hpp"
#include "tools/studies/pipemare/study_runs.hpp"

/// Any text is a table of runs, whose text is then settled, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const auto read = [&] { return runs_from_csv(std::string(testing::text_of(data, size)), "fuzz.csv"); };
  return testing::read_or_refuse(read, [](const std::vector<StudyRun>& runs) {
    const std::string text = runs_csv(runs);
    testing::promise(runs_csv(runs_from_csv(text, "again.csv")) == text, "the same table");
  });
}
