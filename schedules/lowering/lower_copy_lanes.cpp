#include "schedules/lowering/lower_copy_lanes.hpp"

#include <string>
#include <utility>

namespace plumb::lowering {
namespace {

Ticks given_time(const StageTimes& times, Op op) { return op == Op::kEvict ? times.evict : times.load; }

}  // namespace

bool CopyLanes::takes_link(const StageTimes& times, Op op, DeviceId guest) const {
  if (!state_.has_transfers() || (given_time(times, op) != 0 && !state_.costs.from_network)) return false;
  return guest != Move::kHost || (state_.cluster != nullptr && state_.cluster->host_link.bytes_per_s > 0);
}

void CopyLanes::send(Transfer& transfer, DeviceId device, const Action& move, DeviceId guest, std::int64_t bytes) {
  const StageTimes& times = state_.costs.times[index(move.stage)];
  const bool on_link = takes_link(times, move.op, guest);
  transfer.channel = lane({device, move.op, guest}, on_link);
  transfer.bytes = on_link ? bytes : given_time(times, move.op);
}

std::uint32_t CopyLanes::lane(const Key& key, bool on_link) {
  const auto [entry, is_new] = lanes_.try_emplace({key, on_link}, static_cast<std::uint32_t>(program_.channels.size()));
  if (!is_new) return entry->second;
  const auto& [device, op, guest] = key;
  Channel channel{device, device, {}};
  if (!on_link) {
    channel.route.bytes_per_s = 1e9 * static_cast<double>(program_.base.ticks_per_ns);
  } else if (guest == Move::kHost) {
    channel.route = state_.cluster->host_route(device, op == Op::kEvict);
  } else {
    const auto [from, to] = op == Op::kEvict ? std::pair(device, guest) : std::pair(guest, device);
    channel.route = state_.route(from, to);
    const bool half_duplex = std::exchange(channel.route.half_duplex, false);
    if (channel.route.shared.empty()) ways_.push_back({entry->second, from, to, half_duplex});
  }
  program_.channels.push_back(std::move(channel));
  return entry->second;
}

/// Channels whose messages and copies go over the link of `way`.
std::vector<std::uint32_t> CopyLanes::channels_on(const Way& way) const {
  const auto same = [&](DeviceId from, DeviceId to) {
    return (from == way.from && to == way.to) || (way.half_duplex && from == way.to && to == way.from);
  };
  std::vector<std::uint32_t> channels;
  for (std::uint32_t c = 0; c < program_.channels.size(); ++c) {
    if (same(program_.channels[c].from, program_.channels[c].to)) channels.push_back(c);
  }
  for (const Way& other : ways_) {
    if (same(other.from, other.to)) channels.push_back(other.channel);
  }
  return channels;
}

void CopyLanes::share_links() {
  for (const Way& way : ways_) {
    const std::vector<std::uint32_t> channels = channels_on(way);
    const bool is_shared = !program_.channels[way.channel].route.shared.empty();
    if (is_shared || channels.size() < 2) continue;
    const auto link = static_cast<std::int32_t>(program_.shared_links.size());
    const auto name = [](DeviceId device) { return std::to_string(index(device)); };
    program_.shared_links.push_back({"device" + name(way.from) + (way.half_duplex ? "-" : ">") + name(way.to),
                                     program_.channels[way.channel].route.bytes_per_s});
    for (const std::uint32_t channel : channels) program_.channels[channel].route.shared.push_back(link);
  }
}

}  // namespace plumb::lowering
