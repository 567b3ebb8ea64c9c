#include "trainer/streams/host_streams.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "trainer/ground/machine_description.hpp"
#include "trainer/ground/run_clock.hpp"

namespace plumb {

void HostStreams::fill(StreamId stream, std::span<std::byte> bytes, std::byte value) {
  enqueue(stream, [=] { host_memory().fill(bytes, value); });
}

void HostStreams::copy(StreamId stream, std::byte* to, std::span<const std::byte> from) {
  enqueue(stream, [=] { host_memory().copy(to, from); });
}

void HostStreams::add(StreamId stream, NumberType type, std::span<std::byte> sum, std::span<const std::byte> term) {
  enqueue(stream, [=, this] { add_(type, sum, term); });
}

std::string HostStreams::description() const { return machine_description(); }

namespace {

class ThreadStreams : public HostStreams {
 public:
  using HostStreams::HostStreams;
  ~ThreadStreams() override {
    for (const auto& stream : streams_) enqueue_in(*stream, nullptr);
    for (const auto& stream : streams_) stream->thread.join();
  }

  StreamId make_stream(DeviceId, StreamKind) override {
    Stream& stream = *streams_.emplace_back(std::make_unique<Stream>());
    stream.thread = std::thread([&stream] { work(stream); });
    return StreamId{static_cast<std::uint32_t>(streams_.size() - 1)};
  }

  EventId make_event(EventUse) override {
    events_.push_back(std::make_unique<Event>());
    return EventId{static_cast<std::uint32_t>(events_.size() - 1)};
  }

  void record(EventId id, StreamId stream) override {
    Event& event = at(id);
    const std::uint64_t number = ++event.recorded;
    enqueue_always(stream, [&event, number] {
      const std::scoped_lock lock(event.mutex);
      event.passed = number;
      event.time_ns = RunClock::steady_ns();
      event.happened.notify_all();
    });
  }

  void wait(StreamId stream, EventId id) override {
    Event& event = at(id);
    const std::uint64_t number = event.recorded;
    if (number == 0) return;
    enqueue_always(stream, [&event, number] {
      std::unique_lock lock(event.mutex);
      event.happened.wait(lock, [&] { return event.passed >= number; });
    });
  }

  bool is_done(EventId id) override {
    Event& event = at(id);
    const std::scoped_lock lock(event.mutex);
    return event.passed == event.recorded;
  }

  void synchronize() override {
    wait_until_idle();
    const std::scoped_lock lock(failure_mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  std::int64_t time_ns(EventId id) override {
    Event& event = at(id);
    const std::scoped_lock lock(event.mutex);
    return event.time_ns;
  }

  /// A run that failed may free what work is still to come for.
  void free(DeviceId device, std::byte* storage) override {
    wait_until_idle();
    HostStreams::free(device, storage);
  }
  void free_shared(std::byte* storage) override {
    wait_until_idle();
    HostStreams::free_shared(storage);
  }

 private:
  struct Event {
    std::mutex mutex;
    std::condition_variable happened;
    std::uint64_t recorded = 0;  ///< events recorded, for the issuing thread alone
    std::uint64_t passed = 0;
    std::int64_t time_ns = 0;
  };
  struct Stream {
    std::mutex mutex;
    std::condition_variable changed;
    std::condition_variable idle;
    std::deque<std::function<void()>> tasks;
    bool busy = false;
    std::thread thread;
  };

  void wait_until_idle() {
    for (const auto& stream : streams_) {
      std::unique_lock lock(stream->mutex);
      stream->idle.wait(lock, [&] { return stream->tasks.empty() && !stream->busy; });
    }
  }

  Event& at(EventId id) { return *events_[static_cast<std::size_t>(id)]; }

  static void enqueue_in(Stream& stream, std::function<void()> task) {
    const std::scoped_lock lock(stream.mutex);
    stream.tasks.push_back(std::move(task));
    stream.changed.notify_one();
  }

  void enqueue_always(StreamId id, std::function<void()> task) {
    enqueue_in(*streams_[static_cast<std::size_t>(id)], std::move(task));
  }

  /// After a failure the streams only come to their end.
  void enqueue(StreamId id, std::function<void()> task) override {
    enqueue_always(id, [this, task = std::move(task)] {
      if (has_failed()) return;
      try {
        if (task) task();
      } catch (...) {  // it comes out of `synchronize`
        const std::scoped_lock lock(failure_mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
    });
  }

  bool has_failed() {
    const std::scoped_lock lock(failure_mutex_);
    return failure_ != nullptr;
  }

  /// Until an empty task comes.
  static void work(Stream& stream) {
    std::unique_lock lock(stream.mutex);
    for (;;) {
      stream.changed.wait(lock, [&] { return !stream.tasks.empty(); });
      const std::function<void()> task = std::move(stream.tasks.front());
      stream.tasks.pop_front();
      if (!task) return;
      stream.busy = true;
      lock.unlock();
      task();
      lock.lock();
      stream.busy = false;
      if (stream.tasks.empty()) stream.idle.notify_all();
    }
  }

  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Event>> events_;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace

std::unique_ptr<StreamMachine> thread_streams(HostStreams::Add by) { return std::make_unique<ThreadStreams>(by); }

}  // namespace plumb
