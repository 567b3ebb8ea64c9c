#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "models/ground/error.hpp"
#include "trainer/processes/clock_offset.hpp"
#include "trainer/processes/peer_watch.hpp"
#include "trainer/processes/processes.hpp"

namespace plumb {

/// An input error that all processes know of; only the first one throws it.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// The processes of a run, which communicate in rounds. In a round every process sends data to any others; the round
/// ends when all processes have come to an exchange, and all data of the round has arrived by then. All processes make
/// the same exchanges in the same order. A separate thread receives, so that computing never delays a packet.
///
/// Every process tells the next one each second that it is alive. Waits end with an `Error` that names the process
/// before when nothing has come from there for `patience`: without it, a cut network would let all of them wait for as
/// long as the system repeats packets, a quarter of an hour.
class ProcessGroup {
 public:
  using Bytes = std::vector<std::byte>;

  /// Takes the data of a round.
  class Sink {
   public:
    virtual ~Sink() = default;
    /// Takes one packet after another from the receiving thread, in order per sender.
    virtual void deliver(std::span<const std::byte> data) = 0;
    /// No more data will come.
    virtual void stop() = 0;
  };

  /// Nanoseconds of a clock that goes steadily.
  using Clock = std::function<std::int64_t()>;

  /// So long a silence of a process means that its host or the network is down.
  static constexpr std::chrono::seconds kPatience{30};

  explicit ProcessGroup(std::unique_ptr<Processes> processes, std::chrono::nanoseconds patience = kPatience);
  ProcessGroup(std::unique_ptr<Processes> processes, Clock clock, std::chrono::nanoseconds patience = kPatience);
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  ~ProcessGroup();

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return size_; }
  std::size_t local_rank() const { return processes_->local_rank(); }
  bool is_first() const { return rank_ == 0; }

  /// Data of this round for another process. Thread-safe.
  void send(std::size_t to, std::span<const std::byte> data);
  /// Hands the round's data to `sink` until the exchange that ends it, beginning with what has arrived
  /// already.
  void open(Sink& sink);
  void close();

  /// Ends the round: gives `parcels[i]` to process i, and returns what each process gave to this one.
  std::vector<Bytes> exchange(std::vector<Bytes> parcels);
  /// An exchange of nothing.
  void meet() { exchange(std::vector<Bytes>(size_)); }
  /// Returns an exchange in which every process gives its bytes to the first one. Returns them by rank in the first
  /// process; the result in the others means nothing.
  std::vector<Bytes> gather(Bytes own);

  /// Does the same in all processes, which must come to equal texts (what they are about to do). When `prepare` throws
  /// `Error` somewhere, or the texts differ, the first process throws `AgreedError`, and the others `RunAborted`.
  void agree(const std::function<std::string()>& prepare);

  /// `announce`: the first process sends `number` to all others, which wait for it in `await_announcement`.
  void announce(std::int64_t number);
  std::int64_t await_announcement();

  /// Returns what is to be added to the own clock to get that of the first process.
  std::int64_t offset_to_first();

  /// Waits at most so long for the job to end; throws `RunAborted` when it does.
  void await_end(std::chrono::milliseconds patience);
  /// Ends the job.
  void abort(int status) { processes_->abort(status); }

 private:
  enum class Kind : std::uint8_t { kData, kParcel, kAnnouncement, kQuestion, kAnswer, kAlive, kEnd, kLost, kQuit };

  void post(std::size_t to, Kind kind, std::uint64_t round, std::span<const std::byte> rest);
  void receive_all();
  void watch(const std::optional<Packet>& packet);
  void take(Packet packet);
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const Ready& ready);

  std::unique_ptr<Processes> processes_;
  Clock clock_;
  std::size_t rank_;
  std::size_t size_;
  PeerWatch before_;           ///< the process that tells this one that it is alive; of the receiving thread
  bool before_ended_ = false;  ///< by its own word

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t round_ = 0;
  Sink* sink_ = nullptr;
  std::map<std::uint64_t, std::vector<Bytes>> held_;               ///< data that came early, by round
  std::map<std::uint64_t, std::map<std::size_t, Bytes>> parcels_;  ///< by round and sender
  std::deque<std::int64_t> announcements_;
  std::vector<ClockSample> samples_;
  std::exception_ptr failure_;
  std::thread receiver_;
};

}  // namespace plumb
