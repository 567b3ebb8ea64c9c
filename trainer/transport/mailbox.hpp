#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "trainer/ground/device_clock.hpp"
#include "trainer/ground/run_aborted.hpp"
#include "trainer/transport/transport.hpp"

namespace plumb {

/// Returns the bytes of blocks or pieces of the host's memory, one after the other.
std::vector<std::byte> gathered(std::span<const Block> blocks);
std::vector<std::byte> gathered(Pieces pieces);

/// Transport between the threads of one process, and where a device of another process waits for what comes from there.
/// A device that waits sleeps on a condition variable of its own, so 2 cores can run any number of devices. A message
/// between threads is not copied: the receiver's blocks exchange their storage with the sender's. Other data in flight
/// lives outside of the devices' arenas, like the buffers of a communication library.
///
/// Moments are those of the devices' clocks: what is sent carries the moment of its sender, and a wait ends at the
/// later of that moment (and what the links take, where the clocks give it) and the waiting device's own.
class Mailbox : public Transport {
 public:
  using Add = std::function<void(std::span<std::byte>, std::span<const std::byte>)>;

  /// `program` and `clocks` outlive this. `may_wait` false: everything awaited must be there already (one thread);
  /// otherwise a missing message throws std::logic_error. `only`: the device that this process has, when it is one of
  /// several.
  Mailbox(const Program& program, RunClocks& clocks, Add add, bool may_wait, std::optional<DeviceId> only = {});

  void send(std::uint32_t transfer, std::span<Block> message) override;
  void await_sent(std::uint32_t transfer) override;
  TransferTimes await(std::uint32_t transfer) override;
  void take(std::uint32_t transfer, std::span<Block> slots) override;
  void send_again(std::uint32_t transfer, std::span<const std::byte> message) override;
  void await_again(std::uint32_t transfer) override;
  bool take_again(std::uint32_t transfer, std::span<std::byte> slot) override;
  void publish(std::uint32_t holder, std::int32_t update, std::span<const std::byte> note) override;
  std::vector<std::byte> published(std::uint32_t holder, std::int32_t update, DeviceId waiting) override;
  void join(std::uint32_t collective, std::size_t member, Pieces part) override;
  void await_reduced(std::uint32_t collective, DeviceId waiting) override;
  void collect(std::uint32_t collective, Pieces sum) override;
  void passed(DeviceId device, InstrIndex position) override;
  void await_instr(DeviceId device, InstrIndex instr, DeviceId waiting) override;

  /// Delivers a message that was sent at `start`, perhaps by another process.
  void put(std::uint32_t transfer, std::vector<std::byte> message, Ticks start);
  /// Returns whether `await` would return at once; throws `RunAborted` as it does.
  bool has(std::uint32_t transfer);
  /// Returns whether `await_reduced` would return at once.
  bool is_reduced(std::uint32_t collective);

  /// Delivers a part of a reduction, perhaps from a device of another process.
  void put_part(std::uint32_t collective, std::size_t member, std::vector<std::byte> part);

  /// Wakes all that wait; all waits throw `RunAborted` from now on.
  void stop();
  /// Throws `RunAborted` after `stop`.
  void check() const {
    if (stopped_) throw RunAborted();
  }

  /// Returns when the last part of every collective arrived; -1 where it has not arrived.
  const std::vector<Ticks>& collective_ends() const { return collective_ends_; }

  /// A reduction that not all members here have collected.
  struct Reduction {
    std::vector<std::vector<std::byte>> parts;  ///< by member, until all have joined
    std::vector<std::byte> sum;                 ///< once all have joined
    std::size_t joined = 0;
    std::size_t collected = 0;
    Ticks last_joined = 0;
  };

  /// Messages and reductions in flight to a device of this process at a checkpoint. Only while no device runs.
  struct Contents {
    std::map<std::uint32_t, std::vector<std::byte>> messages;  ///< by transfer
    std::map<std::uint32_t, Reduction> reductions;             ///< by collective
  };
  Contents contents() const;
  /// Puts the devices at `positions`, and what is for a device of this process among `contents` in flight again;
  /// everything else is dropped.
  void restore(Contents contents, std::span<const InstrIndex> positions);

 private:
  /// A message is in the blocks of its sender until they are needed for something else: then it is copied.
  struct Letter {
    std::span<Block> lent;
    std::vector<std::byte> bytes;  ///< when nothing is lent
    TransferTimes times;

    std::vector<std::byte> copy() const { return lent.empty() ? bytes : gathered(lent); }
  };
  struct Note {
    std::vector<std::byte> bytes;
    Ticks moment = 0;
  };
  /// What came in for one device, and how far it is.
  struct Box {
    mutable std::mutex mutex;
    std::condition_variable arrived;          ///< waited for by the device
    std::condition_variable progressed;       ///< waited for by others
    std::map<std::uint32_t, Letter> letters;  ///< by transfer
    std::set<std::uint32_t> again;            ///< transfers that were sent again, and not waited for
    InstrIndex position = 0;                  ///< instrs before it are done
  };

  Box& box_of(std::uint32_t transfer) { return boxes_[index(receiver(transfer))]; }
  bool is_here(DeviceId device) const { return !only_ || *only_ == device; }
  const Channel& channel(std::uint32_t transfer) const {
    return program_.channels[program_.transfers[transfer].channel];
  }
  DeviceId receiver(std::uint32_t transfer) const { return channel(transfer).to; }
  DeviceId device_at(InstrIndex at) const {
    return program_.holders[program_.rows[program_.instrs[at].row].holder].device;
  }
  DeviceClock& clock_of(DeviceId device) { return clocks_.of(index(device)); }
  TransferTimes times_on_link(std::uint32_t transfer, Ticks offered);
  void add(std::uint32_t transfer, Letter letter);
  std::size_t collectors(std::uint32_t collective) const;
  std::size_t collected(std::uint32_t collective, std::span<const InstrIndex> positions) const;
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, DeviceId waiting, const Ready& ready);

  const Program& program_;
  RunClocks& clocks_;
  Add add_;
  bool may_wait_;
  std::optional<DeviceId> only_;
  std::vector<Box> boxes_;           ///< by device
  std::vector<Ticks> link_free_at_;  ///< by channel, where clocks give times: the end of its last message
  std::vector<Ticks> sent_at_;       ///< by transfer, likewise: when its sender is done with it
  mutable std::mutex reductions_mutex_;
  std::condition_variable reduced_;
  std::map<std::uint32_t, Reduction> reductions_;  ///< by collective; only those under way
  std::vector<Ticks> collective_ends_;
  std::mutex notes_mutex_;
  std::condition_variable noted_;
  std::map<std::pair<std::uint32_t, std::int32_t>, Note> notes_;  ///< by holder and update
  std::atomic<bool> stopped_ = false;
};

}  // namespace plumb
