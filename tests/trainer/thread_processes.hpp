#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "trainer/ground/run_aborted.hpp"
#include "trainer/ground/run_clock.hpp"
#include "trainer/processes/process_group.hpp"
#include "trainer/processes/processes.hpp"
#include "trainer/train.hpp"

namespace plumb {

/// What the threads that play processes share.
struct ThreadJob {
  explicit ThreadJob(std::size_t size) : boxes(size) {}

  std::mutex mutex;
  std::condition_variable arrived;
  std::vector<std::deque<Packet>> boxes;  ///< by receiver
  int aborted = 0;                        ///< status; 0: not
};

/// A process of a job that lives in one program: the same promises as those of MPI, where sanitizers see them.
class ThreadProcess : public Processes {
 public:
  ThreadProcess(std::shared_ptr<ThreadJob> job, std::size_t rank) : job_(std::move(job)), rank_(rank) {}

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return job_->boxes.size(); }
  void send(std::size_t to, std::vector<std::byte> bytes) override {
    const std::scoped_lock lock(job_->mutex);
    job_->boxes[to].push_back({rank_, std::move(bytes)});
    job_->arrived.notify_all();
  }
  std::optional<Packet> receive(std::chrono::nanoseconds most) override {
    std::unique_lock lock(job_->mutex);
    auto& box = job_->boxes[rank_];
    if (!job_->arrived.wait_for(lock, most, [&] { return job_->aborted != 0 || !box.empty(); })) return std::nullopt;
    if (box.empty()) throw RunAborted();
    Packet packet = std::move(box.front());
    box.pop_front();
    return packet;
  }
  void abort(int status) override {
    const std::scoped_lock lock(job_->mutex);
    job_->aborted = status;
    job_->arrived.notify_all();
  }

 private:
  std::shared_ptr<ThreadJob> job_;
  std::size_t rank_;
};

/// What became of one process.
struct ProcessOutcome {
  TrainResult result;
  std::exception_ptr failure;
};

/// Runs `train` in as many processes as `options.schedule` has devices, each a thread. A process that fails alone ends
/// the job, as the program does. `change` may give every process options of its own.
inline std::vector<ProcessOutcome> train_in_processes(
    const TrainOptions& options, std::size_t count,
    const std::function<void(std::size_t rank, TrainOptions& own)>& change = {}) {
  const auto job = std::make_shared<ThreadJob>(count);
  std::vector<ProcessOutcome> outcomes(count);
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      ProcessGroup group(std::make_unique<ThreadProcess>(job, rank));
      TrainOptions own = options;
      own.execution.executor = "threads";
      own.execution.processes = &group;
      if (change) change(rank, own);
      try {
        outcomes[rank].result = train(own);
      } catch (const AgreedError&) {
        outcomes[rank].failure = std::current_exception();
      } catch (const RunAborted&) {
        outcomes[rank].failure = std::current_exception();
      } catch (const std::exception&) {
        outcomes[rank].failure = std::current_exception();
        group.abort(1);
      }
    });
  }
  threads.clear();
  return outcomes;
}

/// The result of the first process; rethrows what it threw.
inline TrainResult train_in_processes(const TrainOptions& options) {
  const auto outcomes = train_in_processes(options, static_cast<std::size_t>(options.schedule.num_devices));
  if (outcomes.front().failure) std::rethrow_exception(outcomes.front().failure);
  return outcomes.front().result;
}

}  // namespace plumb
