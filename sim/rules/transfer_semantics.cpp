#include "sim/rules/transfer_semantics.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

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

bool is_second_of_pair(const Program& program, InstrIndex i, InstrIndex lane_begin) {
  return i > lane_begin && i < program.size() && program.rows[program.instrs[i - 1].row].overlapped;
}

/// First instr after what ends with `issue` (a pair is one).
InstrIndex place_behind(const Program& program, InstrIndex issue) {
  return issue + (program.rows[program.instrs[issue].row].overlapped ? 2U : 1U);
}

/// A send or a receive as one device sees it.
struct Half {
  DeviceId device{};
  DeviceId peer{};
  InstrIndex place = 0;
  std::uint32_t transfer = 0;
  bool is_send = false;

  auto key() const { return std::tuple(device, place, peer); }
};

std::vector<Half> halves_of(const Program& program) {
  std::vector<Half> halves;
  halves.reserve(2 * program.transfers.size());
  for (std::uint32_t t = 0; t < program.transfers.size(); ++t) {
    const Transfer& transfer = program.transfers[t];
    if (program.is_move(t)) continue;
    const auto& [from, to, route] = program.channels[transfer.channel];
    const bool second = is_second_of_pair(program, transfer.post, program.lane_begin[index(to)]);
    halves.push_back({from, to, place_behind(program, transfer.issue), t, true});
    halves.push_back({to, from, transfer.post - (second ? 1U : 0U), t, false});
  }
  std::ranges::sort(halves, {}, [](const Half& half) { return std::tuple_cat(half.key(), std::tuple(half.transfer)); });
  return halves;
}

/// Whether every channel's messages are produced in order of index, as lowering makes them without explicit sends.
bool produced_in_order(const Program& program) {
  return std::ranges::is_sorted(program.transfers, {}, &Transfer::producer);
}

}  // namespace

std::int64_t whole_bytes_per_s(double bytes_per_s) {
  if (bytes_per_s <= 0) return 0;
  if (bytes_per_s >= 9e18)
    throw Error("bandwidth " + std::to_string(bytes_per_s) + " bytes/s; expected less than 9e18");
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

IndexLists service_order(const Program& program, TransferMode mode) {
  IndexLists lists = group_by(program.transfers.size(), program.channels.size(),
                              [&](std::size_t t) { return program.transfers[t].channel; });
  if (rules_of(mode).in_issue_order || produced_in_order(program)) return lists;
  const auto producer = [&](std::uint32_t t) { return program.transfers[t].producer; };
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    std::ranges::stable_sort(std::span(lists.items).subspan(lists.begin[c], lists.begin[c + 1] - lists.begin[c]), {},
                             producer);
  }
  return lists;
}

const IndexLists& offered(const ProgramIndex& indexed, TransferMode mode) {
  return rules_of(mode).in_issue_order ? indexed.issued() : indexed.made();
}

Batches batches_of(const Program& program, TransferMode mode) {
  Batches batches;
  if (!rules_of(mode).batches) return batches;
  batches.of_send.assign(program.transfers.size(), Batches::kNone);
  batches.of_receive.assign(program.transfers.size(), Batches::kNone);
  const std::vector<Half> halves = halves_of(program);
  for (auto first = halves.begin(); first != halves.end();) {
    const auto last = std::find_if(first, halves.end(), [&](const Half& half) { return half.key() != first->key(); });
    const auto sends = std::count_if(first, last, [](const Half& half) { return half.is_send; });
    if (sends != 0 && sends != last - first) {
      const auto batch = static_cast<std::uint32_t>(batches.size.size());
      batches.size.push_back(static_cast<std::uint32_t>(last - first));
      for (const Half& half : std::span(first, last)) {
        (half.is_send ? batches.of_send : batches.of_receive)[half.transfer] = batch;
      }
    }
    first = last;
  }
  return batches;
}

PairQueues pair_queues_of(const Program& program, TransferMode mode) {
  PairQueues queues;
  if (!rules_of(mode).pair_queues) return queues;
  queues.before_send.assign(program.transfers.size(), PairQueues::kNone);
  queues.before_receive.assign(program.transfers.size(), PairQueues::kNone);
  std::vector<Half> halves = halves_of(program);
  std::ranges::sort(halves, {}, [](const Half& half) {
    return std::tuple(half.device, half.peer, half.place, !half.is_send, half.transfer);
  });
  for (std::size_t k = 1; k < halves.size(); ++k) {
    const Half& half = halves[k];
    if (halves[k - 1].device != half.device || halves[k - 1].peer != half.peer) continue;
    (half.is_send ? queues.before_send : queues.before_receive)[half.transfer] = halves[k - 1].transfer;
  }
  return queues;
}

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
