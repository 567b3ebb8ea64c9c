#include "trainer/executors/executor.hpp"

#include <array>

#include "models/ground/error.hpp"
#include "trainer/executors/serial_executor.hpp"
#include "trainer/executors/streams_executor.hpp"
#include "trainer/executors/threads_executor.hpp"

namespace plumb {
namespace {

constexpr std::array kExecutors{
    Executor{"threads", "one thread per device: real time", true, false, run_threads},
    Executor{"serial", "one thread, any number of virtual devices: exact semantics and memory", false, false,
             run_serial},
    Executor{"streams", "one thread issues the work of all devices, streams do it: what GPUs do, on any back end",
             false, true, run_streams},
};

}  // namespace

std::span<const Executor> executors() { return kExecutors; }

std::string_view usual_executor(const Backend& backend) { return backend.only_streams ? "streams" : "threads"; }

const Executor& executor(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Executor& known : kExecutors) {
    if (known.name == name) return known;
    names.push_back(known.name);
  }
  throw_unknown("executor", name, names);
}

}  // namespace plumb
