#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace plumb {

/// What one process sends another.
struct Packet {
  std::size_t from = 0;  ///< rank of the sender
  std::vector<std::byte> bytes;
};

/// The interface of what connects the processes of a run. All processes run the same program, on machines with the same
/// representation of numbers; their ranks count from 0.
class Processes {
 public:
  virtual ~Processes() = default;

  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;
  /// Among the processes of the same machine.
  virtual std::size_t local_rank() const { return rank(); }
  /// Hands over a packet and returns at once. Packets between two processes arrive in the order of sending; a process
  /// may send to itself. Thread-safe.
  virtual void send(std::size_t to, std::vector<std::byte> bytes) = 0;
  /// Sleeps until the next packet is there, but not longer than `most`; none when nothing came. Called from one thread.
  /// Throws `RunAborted` when the job ends instead.
  virtual std::optional<Packet> receive(std::chrono::nanoseconds most) = 0;
  /// Ends all processes of the job, with this exit status. May not return.
  virtual void abort(int status) = 0;
};

}  // namespace plumb
