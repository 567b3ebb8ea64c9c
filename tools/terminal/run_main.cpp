#include "tools/terminal/run_main.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "models/ground/available_memory.hpp"
#include "models/ground/error.hpp"
#include "models/ground/work_size.hpp"

namespace plumb {
namespace {

/// Errors are one line, whatever text they quote.
void print_error(std::string_view prefix, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  message = printable(message);
  std::cout.flush();
  std::cerr << "plumbline: " << prefix << message << '\n';
}

/// What is free once the work has been given up: the least of what the machine, its groups and `ulimit` leave.
std::string memory_left() {
  try {
    const auto left = available_memory();
    return left ? ", which is about " + gibibytes(*left) : "";
  } catch (const std::bad_alloc&) {
    return "";
  }
}

/// Opens closed ones of the descriptors 0 to 2 on /dev/null the wrong way round, so that using them still fails.
void keep_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free number is taken, which is this one. A program that cannot even open it goes on without.
    (void)::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

std::terminate_handler usual_end = nullptr;

/// Ends the program where memory has run out and no exception may leave (a destructor of the JSON library, a thread's
/// first function), as `run_main` would. Allocates nothing.
void end_without_memory() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kLine =
        "plumbline: error: this input needs more memory than this process can get; expected a smaller one\n";
    (void)!::write(STDERR_FILENO, kLine.data(), kLine.size());
    ::_exit(static_cast<int>(ExitStatus::kWrongInput));
  } catch (...) {  // a bug, which the usual end shows
  }
  usual_end();
}

}  // namespace

int run_main(const std::function<ExitStatus()>& program) {
  keep_standard_descriptors();
  usual_end = std::set_terminate(end_without_memory);
  ExitStatus status = ExitStatus::kOurFault;
  try {
    status = program();
  } catch (const CannotRun& error) {
    print_error("error: ", error.what());
    status = ExitStatus::kNo;
  } catch (const Errors& errors) {
    for (const std::string& message : errors.messages()) print_error("error: ", message);
    status = ExitStatus::kWrongInput;
  } catch (const Error& error) {
    print_error("error: ", error.what());
    status = ExitStatus::kWrongInput;
  } catch (const std::bad_alloc&) {
    print_error("error: ",
                "this input needs more memory than this process can get" + memory_left() + "; expected a smaller one");
    status = ExitStatus::kWrongInput;
  } catch (const std::exception& error) {
    print_error("internal error: ", error.what());
  }
  return static_cast<int>(status);
}

}  // namespace plumb
