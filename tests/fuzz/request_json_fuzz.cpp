#include "tests/fuzz/promise.hpp"
#include "tools/ask/asked.hpp"

/// Any text is a request whose fields are options of the question that it names, or is refused; an accepted one can be
/// written as a command.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] { return request_from_json(testing::text_of(data, size)); },
      [](const Request& request) {
        testing::read_or_refuse(
            [&] {
              const AskedQuestionPtr question = asked_question(request.ask);
              take_request(question->options(), request);
              return command_of(question->options(), request);
            },
            [](const std::string& command) { testing::promise(command.starts_with("plumbline "), "a command"); });
      });
}
