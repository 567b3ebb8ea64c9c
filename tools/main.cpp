#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include <unistd.h>

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

std::string out_of_memory() {
  const std::int64_t bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return "this input needs more memory than is free on this machine, which has " + std::to_string(bytes >> 30) +
         " GiB; expected a smaller one";
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
    print_error("error: ", out_of_memory());
    status = ExitStatus::kWrongInput;
  } catch (const std::exception& error) {
    print_error("internal error: ", error.what());
  }
  return static_cast<int>(status);
}
