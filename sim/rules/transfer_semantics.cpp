#include "sim/rules/transfer_semantics.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "models/ground/error.hpp"
#include "models/ground/units.hpp"

namespace plumb {
namespace {

__extension__ using Wide = unsigned __int128;

/// Takes `part` from the end of what is left of a wait.
Ticks take(Ticks& left, Ticks part) {
  const Ticks taken = std::clamp<Ticks>(part, 0, left);
  left -= taken;
  return taken;
}

}  // namespace

std::int64_t whole_bytes_per_s(double bytes_per_s) {
  if (bytes_per_s <= 0) return 0;
  if (bytes_per_s >= 9e18) throw Error("cluster: a link has 9e18 bytes/s or more; expected less");
  return std::max<std::int64_t>(1, std::llround(bytes_per_s));
}

Ticks sending_time(std::int64_t bytes, std::int64_t bytes_per_s, Timebase base) {
  if (bytes_per_s == 0) return 0;
  const auto rate = static_cast<Wide>(bytes_per_s);
  const Wide work =
      static_cast<Wide>(bytes) * static_cast<Wide>(kTicksPerSecond) * static_cast<Wide>(base.ticks_per_ns);
  const Wide ticks = (2 * work + rate) / (2 * rate);
  if (ticks >> 62U != 0) {
    throw Error("sending " + std::to_string(bytes) + " bytes at " + std::to_string(bytes_per_s) +
                " bytes/s takes longer than the clock can count");
  }
  return static_cast<Ticks>(ticks);
}

Ticks sending_time(std::int64_t bytes, const Route& route, Timebase base) {
  return sending_time(bytes, whole_bytes_per_s(route.bytes_per_s), base);
}

Ticks latency_time(const Route& route, Timebase base) { return route.latency_ns * base.ticks_per_ns; }

WaitSplit split_receive_wait(Ticks from, const TransferTimes& times, Ticks produced, Ticks alone, Ticks latency) {
  Ticks left = std::max<Ticks>(0, times.available - from);
  WaitSplit split;
  split.queue = take(left, times.available - times.done - latency);
  split.latency = take(left, latency);
  split.bandwidth = take(left, alone);
  split.queue += take(left, times.done - alone - produced);
  split.compute = left;
  return split;
}

WaitSplit split_send_wait(Ticks from, Ticks sent, Ticks done, Ticks alone) {
  Ticks left = std::max<Ticks>(0, sent - from);
  WaitSplit split;
  split.queue = take(left, sent - done);
  split.bandwidth = take(left, alone);
  split.queue += left;
  return split;
}

void add_to(std::array<Ticks, kIdleCauseCount>& causes, const WaitSplit& split) {
  causes[static_cast<std::size_t>(IdleCause::kCompute)] += split.compute;
  causes[static_cast<std::size_t>(IdleCause::kTransferQueue)] += split.queue;
  causes[static_cast<std::size_t>(IdleCause::kTransferBandwidth)] += split.bandwidth;
  causes[static_cast<std::size_t>(IdleCause::kTransferLatency)] += split.latency;
}

IdleCause main_cause(const WaitSplit& split) {
  const Ticks most = std::max({split.latency, split.bandwidth, split.queue, split.compute});
  if (split.latency == most) return IdleCause::kTransferLatency;
  if (split.bandwidth == most) return IdleCause::kTransferBandwidth;
  return split.queue == most ? IdleCause::kTransferQueue : IdleCause::kCompute;
}

}  // namespace plumb
