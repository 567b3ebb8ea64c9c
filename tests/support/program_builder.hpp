#pragma once

#include <cstdint>
#include <vector>

#include "schedules/program/program.hpp"

namespace plumb::testing {

/// Makes small Programs by hand: instr k of device d is the forward of microbatch k on stage d.
///
///     ProgramBuilder builder(ProgramBuilder::Lanes{{10, 10}, {5}});
///     builder.message({0, 0}, {1, 0}, 100);          // 100 bytes from the first instr of device 0 to that of device 1
///     const Program program = builder.build();
class ProgramBuilder {
 public:
  /// Durations by device.
  using Lanes = std::vector<std::vector<Ticks>>;

  struct Place {
    std::size_t device = 0;
    std::size_t position = 0;
  };

  explicit ProgramBuilder(const Lanes& durations, Route route = {0, 1e9, {}, false}) : route_(std::move(route)) {
    program_.num_devices = program_.num_stages = static_cast<std::int32_t>(durations.size());
    for (std::int32_t d = 0; d < program_.num_devices; ++d) {
      program_.lane_begin.push_back(static_cast<std::uint32_t>(program_.instrs.size()));
      program_.holders.push_back({ReplicaId{0}, StageId{d}, DeviceId{d}});
      for (const Ticks duration : durations[static_cast<std::size_t>(d)]) add(d, duration);
    }
    program_.lane_begin.push_back(static_cast<std::uint32_t>(program_.instrs.size()));
    waits_.resize(program_.instrs.size());
  }

  InstrIndex at(Place place) const {
    return program_.lane_begin[place.device] + static_cast<InstrIndex>(place.position);
  }

  /// The instr and the next one of its lane become a pair that takes the first one's time.
  void pair(Place first) {
    Instr& instr = program_.instrs[at(first)];
    instr.action.overlaps_next = 1;
    program_.rows[instr.row].overlapped = true;
    program_.durations[program_.instrs[at(first) + 1].row] = 0;
  }

  void direct(Place from, Place to) { waits_[at(to)].push_back({at(from), Wait::kDirect}); }

  void latency(Place from, Place to, Ticks comm) {
    program_.comm = comm;
    waits_[at(to)].push_back({at(from), Wait::kLatency});
  }

  /// Issued at its producer, posted at its consumer, waited for at the lane's end; change it through the reference.
  Transfer& message(Place from, Place to, std::int64_t bytes) {
    Transfer transfer;
    transfer.producer = transfer.issue = at(from);
    transfer.consumer = transfer.post = at(to);
    transfer.sent = program_.lane_begin[from.device + 1];
    transfer.bytes = bytes;
    transfer.channel =
        channel(DeviceId{static_cast<std::int32_t>(from.device)}, DeviceId{static_cast<std::int32_t>(to.device)});
    waits_[at(to)].push_back({at(from), static_cast<std::uint32_t>(program_.transfers.size())});
    program_.transfers.push_back(transfer);
    return program_.transfers.back();
  }

  /// All `members` join it; `waiter` waits for it.
  void collective(const std::vector<Place>& members, Place waiter, Ticks duration) {
    Collective collective;
    for (const Place member : members) {
      program_.rows[program_.instrs[at(member)].row].op = Op::kReduceGrad;
      program_.instrs[at(member)].action.op = Op::kReduceGrad;
      collective.members.push_back(at(member));
    }
    collective.duration = duration;
    const auto number = static_cast<std::uint32_t>(program_.collectives.size());
    waits_[at(waiter)].push_back({collective.members.front(), Wait::kCollectiveBit | number});
    program_.collectives.push_back(std::move(collective));
  }

  Program build() const {
    Program program = program_;
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      program.instrs[i].first_wait = static_cast<std::uint32_t>(program.waits.size());
      program.waits.insert(program.waits.end(), waits_[i].begin(), waits_[i].end());
    }
    Instr& sentinel = program.instrs.emplace_back();
    sentinel.first_wait = static_cast<std::uint32_t>(program.waits.size());
    return program;
  }

 private:
  void add(std::int32_t device, Ticks duration) {
    Instr& instr = program_.instrs.emplace_back();
    instr.action.stage = StageId{device};
    instr.action.microbatch =
        MicrobatchId{static_cast<std::int32_t>(program_.instrs.size() - 1 - program_.lane_begin.back())};
    instr.row = static_cast<std::uint32_t>(program_.rows.size());
    Row& row = program_.rows.emplace_back();
    row.holder = static_cast<std::uint32_t>(device);
    program_.durations.push_back(duration);
  }

  std::uint32_t channel(DeviceId from, DeviceId to) {
    for (std::uint32_t c = 0; c < program_.channels.size(); ++c) {
      if (program_.channels[c].from == from && program_.channels[c].to == to) return c;
    }
    program_.channels.push_back({from, to, route_});
    return static_cast<std::uint32_t>(program_.channels.size() - 1);
  }

  Route route_;
  Program program_;
  std::vector<std::vector<Wait>> waits_;
};

}  // namespace plumb::testing
