#include "trainer/processes/mpi_processes.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// MPI counts in int: packets are padded to whole units, and end with their true size.
constexpr std::size_t kUnitBytes = 64;
constexpr int kTag = 0;
/// Between two looks for a packet; longer the longer nothing comes.
constexpr std::chrono::microseconds kShortestSleep{1};
constexpr std::chrono::microseconds kLongestSleep{50};

std::vector<std::byte> padded(std::vector<std::byte> bytes) {
  const std::uint64_t size = bytes.size();
  bytes.resize((bytes.size() + sizeof(size) + kUnitBytes - 1) / kUnitBytes * kUnitBytes);
  std::memcpy(bytes.data() + bytes.size() - sizeof(size), &size, sizeof(size));
  return bytes;
}

void remove_padding(std::vector<std::byte>& bytes) {
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data() + bytes.size() - sizeof(size), sizeof(size));
  bytes.resize(size);
}

/// One communicator of our own. MPI waits by spinning, which would take the processor away from those who compute, so
/// whoever waits here looks, and sleeps. Failures of MPI itself end the job with its own message.
class MpiProcesses : public Processes {
 public:
  MpiProcesses() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    if (provided < MPI_THREAD_SERIALIZED) {
      MPI_Finalize();
      throw Error("transport mpi: this MPI has no threads; expected MPI_THREAD_SERIALIZED");
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    int local = 0;
    MPI_Comm_rank(machine, &local);
    MPI_Comm_free(&machine);
    local_rank_ = static_cast<std::size_t>(local);
    MPI_Type_contiguous(static_cast<int>(kUnitBytes), MPI_BYTE, &unit_);
    MPI_Type_commit(&unit_);
  }
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;
  ~MpiProcesses() override {
    for (Sending& sending : sendings_) MPI_Wait(&sending.request, MPI_STATUS_IGNORE);
    MPI_Type_free(&unit_);
    MPI_Comm_free(&communicator_);
    MPI_Finalize();
  }

  std::size_t rank() const override { return number(MPI_Comm_rank); }
  std::size_t size() const override { return number(MPI_Comm_size); }
  std::size_t local_rank() const override { return local_rank_; }

  void send(std::size_t to, std::vector<std::byte> bytes) override {
    const std::scoped_lock lock(mutex_);
    Sending& sending = sendings_.emplace_back();
    sending.bytes = padded(std::move(bytes));
    MPI_Isend(sending.bytes.data(), static_cast<int>(sending.bytes.size() / kUnitBytes), unit_, static_cast<int>(to),
              kTag, communicator_, &sending.request);
  }

  std::optional<Packet> receive(std::chrono::nanoseconds most) override {
    const auto end = std::chrono::steady_clock::now() + most;
    for (auto sleep = kShortestSleep;; sleep = std::min(2 * sleep, kLongestSleep)) {
      if (auto packet = look()) return packet;
      if (std::chrono::steady_clock::now() >= end) return std::nullopt;
      std::this_thread::sleep_for(sleep);
    }
  }

  void abort(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }

 private:
  /// A packet under way, and its bytes until it has left.
  struct Sending {
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  std::size_t number(int (*of)(MPI_Comm, int*)) const {
    int value = 0;
    of(communicator_, &value);
    return static_cast<std::size_t>(value);
  }

  std::optional<Packet> look() {
    const std::scoped_lock lock(mutex_);
    sendings_.remove_if([](Sending& sending) {
      int left = 0;
      MPI_Test(&sending.request, &left, MPI_STATUS_IGNORE);
      return left != 0;
    });
    int there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, kTag, communicator_, &there, &message, &status);
    if (there == 0) return std::nullopt;
    int units = 0;
    MPI_Get_count(&status, unit_, &units);
    Packet packet{static_cast<std::size_t>(status.MPI_SOURCE), {}};
    packet.bytes.resize(static_cast<std::size_t>(units) * kUnitBytes);
    MPI_Mrecv(packet.bytes.data(), units, unit_, &message, MPI_STATUS_IGNORE);
    remove_padding(packet.bytes);
    return packet;
  }

  std::mutex mutex_;  ///< around all calls of MPI while two threads make them
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::size_t local_rank_ = 0;
  MPI_Datatype unit_ = MPI_DATATYPE_NULL;
  std::list<Sending> sendings_;
};

}  // namespace

bool has_mpi() { return true; }

std::unique_ptr<Processes> join_mpi_job() { return std::make_unique<MpiProcesses>(); }

}  // namespace plumb
