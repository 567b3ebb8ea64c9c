#include "trainer/executors/executor.hpp"

#include <array>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/runnability/deadlock.hpp"
#include "trainer/executors/forward_reruns.hpp"
#include "trainer/executors/run_part.hpp"
#include "trainer/executors/streams_executor.hpp"

namespace plumb {
namespace {

/// The first exception of any device; the others are stopped, and their `RunAborted` says nothing new.
class FirstFailure {
 public:
  void note(Mailbox& mailbox) {
    {
      const std::scoped_lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    mailbox.stop();
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
};

/// One thread per device; they wait for each other in the mailbox and nowhere else.
void run_threads(const RunPart& part) {
  FirstFailure failure;
  std::vector<std::jthread> threads;
  const auto run = [&](std::size_t device) {
    try {
      part.workers[device]->run_to(part.limits[device]);
    } catch (const RunAborted&) {
      return;
    } catch (const std::exception&) {
      failure.note(part.mailbox);
    }
  };
  try {
    for (std::size_t device = 0; device < part.workers.size(); ++device) {
      if (part.workers[device]) threads.emplace_back(run, device);
    }
  } catch (const std::system_error&) {
    part.mailbox.stop();
    const std::size_t started = threads.size();
    threads.clear();
    throw Error("executor threads: only " + std::to_string(started) + " of " + std::to_string(part.workers.size()) +
                " threads can be started; expected fewer devices, or the executor serial");
  }
  threads.clear();
  failure.rethrow();
}

/// All devices on the calling thread, in a topological order of the program: any number of virtual devices.
void run_serial(const RunPart& part) {
  const Program& program = part.program;
  ForwardReruns reruns(part);
  for (const InstrIndex at : run_order(program)) {
    const std::size_t device = index(device_of(program, at));
    DeviceWorker& worker = *part.workers[device];
    // Second halves of pairs, and what ran before this part, the worker has passed already.
    if (at != worker.position() || at >= part.limits[device]) continue;
    if (worker.must_rerun()) reruns.rerun_forwards(worker);
    worker.step();
  }
  for (const auto& worker : part.workers) reruns.rerun_forwards(*worker);
}

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
