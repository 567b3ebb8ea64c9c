#include "trainer/executors/threads_executor.hpp"

#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "models/ground/error.hpp"

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

}  // namespace

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

}  // namespace plumb
