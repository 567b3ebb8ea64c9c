#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "models/ground/error.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/process_job.hpp"

namespace {

/// Errors are one line, whatever text they quote.
void print_error(std::string_view prefix, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::cout.flush();
  std::cerr << "plumbline: " << prefix << message << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  using plumb::ExitStatus;
  ExitStatus status = ExitStatus::kOurFault;
  try {
    status = plumb::run_command({argv + 1, argv + argc});
  } catch (const plumb::Error& error) {
    if (!plumb::speaks_for_job()) return 0;
    print_error("error: ", error.what());
    status = ExitStatus::kWrongInput;
  } catch (const std::bad_alloc&) {
    print_error("error: ", "this input needs more memory than there is; expected a smaller one");
    status = ExitStatus::kWrongInput;
  } catch (const std::exception& error) {
    print_error("internal error: ", error.what());
  }
  return static_cast<int>(status);
}
