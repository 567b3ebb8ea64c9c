#include "tools/terminal/run_main.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

#include <unistd.h>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// Errors are one line, whatever text they quote.
void print_error(std::string_view prefix, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  message = printable(message);
  std::cout.flush();
  std::cerr << "plumbline: " << prefix << message << '\n';
}

std::int64_t machine_memory_gib() {
  return (static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)) >> 30;
}

}  // namespace

int run_main(const std::function<ExitStatus()>& program, bool reports_errors) {
  ExitStatus status = ExitStatus::kOurFault;
  try {
    status = program();
  } catch (const CannotRun& error) {
    if (!reports_errors) return 0;
    print_error("error: ", error.what());
    status = ExitStatus::kNo;
  } catch (const Error& error) {
    if (!reports_errors) return 0;
    print_error("error: ", error.what());
    status = ExitStatus::kWrongInput;
  } catch (const std::bad_alloc&) {
    print_error("error: ", "this input needs more memory than is free on this machine, which has " +
                               std::to_string(machine_memory_gib()) + " GiB; expected a smaller one");
    status = ExitStatus::kWrongInput;
  } catch (const std::exception& error) {
    print_error("internal error: ", error.what());
  }
  return static_cast<int>(status);
}

}  // namespace plumb
