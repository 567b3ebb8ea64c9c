#include "trainer/executor.hpp"

#include <array>

#include "models/error.hpp"
#include "trainer/serial_executor.hpp"
#include "trainer/threads_executor.hpp"

namespace plumb {
namespace {

constexpr std::array kExecutors{
    Executor{"threads", "one thread per device: real time", true, run_threads},
    Executor{"serial", "one thread, any number of virtual devices: exact semantics and memory", false, run_serial},
};

}  // namespace

std::span<const Executor> executors() { return kExecutors; }

const Executor& executor(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Executor& known : kExecutors) {
    if (known.name == name) return known;
    names.push_back(known.name);
  }
  throw_unknown("executor", name, names);
}

}  // namespace plumb
