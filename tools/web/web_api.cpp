// What the page calls: requests in, answers out (tools/ask/REQUESTS.md), through the memory of the WebAssembly module.
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "tools/ask/ask.hpp"

namespace {

std::string answer;

int refuse(plumb::ExitStatus status, const std::string& reason) {
  answer = nlohmann::json({{"status", static_cast<int>(status)}, {"error", reason}}).dump();
  return static_cast<int>(status);
}

}  // namespace

#define PLUMB_EXPORT(name) extern "C" __attribute__((export_name(#name)))

/// Room for a request of `size` bytes; to be given back by `plumb_free`.
PLUMB_EXPORT(plumb_alloc) void* plumb_alloc(std::size_t size) { return std::malloc(size); }
PLUMB_EXPORT(plumb_free) void plumb_free(void* room) { std::free(room); }

/// Answers a request. Returns the exit status that the command would have. Of a request that cannot be answered the
/// answer is an object with the member `error`: why.
PLUMB_EXPORT(plumb_ask) int plumb_ask(const char* request, std::size_t size) {
  try {
    return static_cast<int>(plumb::ask(std::string_view(request, size), answer));
  } catch (const plumb::Errors& errors) {
    std::string lines;
    for (const std::string& line : errors.messages()) lines += (lines.empty() ? "" : "\n") + line;
    return refuse(plumb::ExitStatus::kWrongInput, lines);
  } catch (const plumb::CannotRun& error) {
    return refuse(plumb::ExitStatus::kNo, error.what());
  } catch (const plumb::Error& error) {
    return refuse(plumb::ExitStatus::kWrongInput, error.what());
  } catch (const std::exception& exception) {  // such as std::bad_alloc
    return refuse(plumb::ExitStatus::kWrongInput,
                  "this needs more memory than a page has, expected fewer devices or microbatches (" +
                      std::string(exception.what()) + ")");
  }
}

/// The last answer; valid until the next request.
PLUMB_EXPORT(plumb_answer) const char* plumb_answer() { return answer.data(); }
PLUMB_EXPORT(plumb_answer_size) std::size_t plumb_answer_size() { return answer.size(); }

#undef PLUMB_EXPORT
