#include "tests/fuzz/promise.hpp"
#include "tools/plans/job_list.hpp"

/// Any text is a list of jobs, which comes back as it was, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse([&] { return job_list_from_json(testing::text_of(data, size), "fuzz.json"); },
                                 [](const JobList& list) {
                                   const JobList again = job_list_from_json(job_list_to_json(list), "again.json");
                                   testing::promise(again == list, "the same jobs");
                                 });
}
