#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "trainer/links/nccl_links.hpp"
#include "trainer/links/stream_messages.hpp"
#include "trainer/numbers/number_type.hpp"
#include "trainer/streams/staging_pool.hpp"

namespace plumb {

/// Returns the links between devices that reduce gradients together: a pair in each direction, in order. They are
/// numbered after the program's channels.
std::vector<std::pair<DeviceId, DeviceId>> reduction_pairs(const Program& program);

/// Reductions between devices of several processes, from GPU to GPU. Every member sends a copy of its part to all other
/// devices, over a separate link and stream for each; the update adds up the parts in the order of the members, so that
/// all have the bits of a run in one process.
///
/// Parts match in the order in which the sender joins, which the receiver knows: a device that joins a reduction issues
/// the receives of all parts that come before it. So a part waits for both ends to join, and for nothing else. When a
/// member would join, or take the sum, only after its device stops, the reduction goes through the hosts.
class LinkReductions {
 public:
  struct Setup {
    const StreamSetting& setting;
    NcclLinks& links;
    const std::map<std::uint32_t, StreamId>& streams;  ///< by link
    DeviceId device{};
    NumberType type{};
    std::vector<std::int64_t> bytes;  ///< bytes of a part, by collective
  };
  /// What `setup` names must outlive this.
  explicit LinkReductions(Setup setup);

  /// The devices go from the instrs `begin` on to `end`.
  void begin_part(std::span<const InstrIndex> begin, std::span<const InstrIndex> end);
  void finish_part(const RunClock& clock, std::vector<Ticks>& ends);
  void forget();

  /// Returns false when the reduction goes through the hosts.
  bool join(std::uint32_t collective, std::size_t member, Pieces part);
  bool await(std::uint32_t collective);
  bool collect(std::uint32_t collective, Pieces sum);

  /// Returns whether everything that was issued has arrived.
  bool is_idle();

 private:
  struct Part {
    Staging copy;
    EventId there = StreamOrder::kAlways;
    std::vector<EventId> sent;
  };
  struct Reduction {
    std::vector<Part> parts;  ///< by member
    std::size_t collected = 0;
  };
  struct Coming {
    InstrIndex at = 0;  ///< where its sender joins
    std::uint32_t collective = 0;
    std::size_t member = 0;

    friend auto operator<=>(const Coming&, const Coming&) = default;
  };

  DeviceQueue& own() const { return *setup_.setting.queues[index(setup_.device)]; }
  DeviceId device_of(InstrIndex at) const;
  std::vector<DeviceId> others_of(std::uint32_t collective) const;
  std::size_t own_members(std::uint32_t collective) const;
  std::uint32_t link(DeviceId from, DeviceId to) const;
  EventId move(std::uint32_t link, const Staging& buffer, bool sends);
  void receive_up_to(std::uint32_t collective, DeviceId from);
  Part& part(std::uint32_t collective, std::size_t member);

  Setup setup_;
  std::vector<std::pair<DeviceId, DeviceId>> pairs_;
  StagingPool pool_;
  std::vector<std::vector<InstrIndex>> touched_;  ///< by collective: where it is joined and waited for
  std::vector<bool> by_link_;                     ///< by collective, in this part of the run
  std::map<DeviceId, std::deque<Coming>> coming_;
  std::map<std::uint32_t, Reduction> reductions_;
  std::deque<EventId> under_way_;
  std::vector<std::pair<std::uint32_t, MarkId>> arrivals_;  ///< arrivals of this part: collective and mark
};

}  // namespace plumb
