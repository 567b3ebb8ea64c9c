#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "schedules/lowering/lower_state.hpp"

namespace plumb::lowering {

/// The channels over which stashes and weights move (schedules/program/move.hpp): one of each device, direction and
/// other side, from the device to itself.
class CopyLanes {
 public:
  explicit CopyLanes(State& state) : state_(state), program_(state.program) {}

  /// Sets the transfer's channel, and its bytes: `bytes` where the copy takes a link of the cluster; the ticks of the
  /// given time, at one byte per tick, otherwise.
  void send(Transfer& transfer, DeviceId device, const Action& move, DeviceId guest, std::int64_t bytes);

  /// Copies between two devices share the link of the pair with all else that is on it.
  void share_links();

 private:
  using Key = std::tuple<DeviceId, Op, DeviceId>;

  /// A copy over a link of its own between two devices.
  struct Way {
    std::uint32_t channel = 0;
    DeviceId from{};
    DeviceId to{};
    bool half_duplex = false;
  };

  bool takes_link(const StageTimes& times, Op op, DeviceId guest) const;
  std::uint32_t lane(const Key& key, bool on_link);
  std::vector<std::uint32_t> channels_on(const Way& way) const;

  State& state_;
  Program& program_;
  std::map<std::pair<Key, bool>, std::uint32_t> lanes_;
  std::vector<Way> ways_;
};

}  // namespace plumb::lowering
