#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trainer/links/stream_messages.hpp"
#include "trainer/transport/mailbox.hpp"
#include "trainer/transport/transport.hpp"

namespace plumb {

/// Reductions between the devices of a stream machine. Every member keeps a copy of its part for the others; when all
/// have joined, every member adds up all parts in the order of the members into its own pieces, on its stream for
/// gradients, while computing continues. Nothing else accesses the pieces between `join` and the work after `await`:
/// the copy waits for all that was computed before, and no backward of a stage stands between its reduction and its U
/// (`RunPlan`).
class StreamReductions {
 public:
  StreamReductions(const StreamSetting& setting, NumberType type)
      : setting_(setting), type_(type), pool_(setting.machine) {}

  void join(std::uint32_t collective, std::size_t member, DeviceId device, Pieces part);
  void await(std::uint32_t collective, DeviceId device);
  /// The sum is where the part was.
  void collect(std::uint32_t collective, DeviceId device);

  void finish_part(const RunClock& clock, std::vector<Ticks>& ends);
  void forget();
  /// Returns the reductions under way. The machine has been waited for.
  std::map<std::uint32_t, Mailbox::Reduction> under_way();

 private:
  struct Member {
    DeviceId device{};
    std::vector<std::span<std::byte>> pieces;
    std::vector<Staging> copies;  ///< by piece
    EventId joined = StreamOrder::kAlways;
    EventId reduced = StreamOrder::kAlways;
    bool collected = false;
  };
  struct Reduction {
    std::vector<Member> members;
    std::size_t joined = 0;
    std::size_t collected = 0;
  };

  DeviceQueue& queue(DeviceId device) const { return *setting_.queues[index(device)]; }
  void reduce(std::uint32_t collective, Reduction& reduction);
  void add_up(Reduction& reduction, Member& own);
  std::vector<std::byte> bytes_of(DeviceId device, const std::vector<std::span<std::byte>>& pieces) const;

  StreamSetting setting_;
  NumberType type_;
  StagingPool pool_;
  std::map<std::uint32_t, Reduction> reductions_;
  std::vector<std::pair<std::uint32_t, MarkId>> ends_;  ///< ends of this part of the run: collective and mark
};

}  // namespace plumb
