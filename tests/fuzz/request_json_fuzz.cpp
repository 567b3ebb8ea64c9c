#include "tests/fuzz/promise.hpp"
#include "tools/ask/request.hpp"
#include "tools/ask/simulate_question.hpp"

/// Any text is a request whose fields are options of `simulate`, or is refused; an accepted one can be written as a
/// command.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse([&] { return request_from_json(testing::text_of(data, size)); },
                                 [](const Request& request) {
                                   OptionTable options("simulate NAME|FILE [options]", "");
                                   SimulateQuestion question;
                                   question.add_job_to(options);
                                   question.add_questions_to(options);
                                   testing::read_or_refuse(
                                       [&] {
                                         take_request(options, request);
                                         return command_of(options, request);
                                       },
                                       [](const std::string&) {});
                                 });
}
