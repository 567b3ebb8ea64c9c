#include "tests/support/random_program.hpp"

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

namespace plumb::testing {
namespace {

class RandomProgramMaker {
 public:
  RandomProgramMaker(const RandomProgram& shape, std::uint64_t seed) : shape_(shape), random_(seed) {}

  Program make() {
    add_lanes();
    add_edges();
    order_channels();
    add_collectives();
    write_waits();
    add_runtime();
    return program_;
  }

 private:
  std::int64_t pick(std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(to - from + 1));
  }

  void add_lanes() {
    program_.num_devices = shape_.devices;
    program_.num_stages = shape_.devices;
    for (std::int32_t d = 0; d < shape_.devices; ++d) {
      program_.lane_begin.push_back(static_cast<std::uint32_t>(program_.instrs.size()));
      program_.holders.push_back({ReplicaId{0}, StageId{d}, DeviceId{d}});
      bool second = false;
      for (std::int32_t k = 0; k < shape_.per_device; ++k) {
        const bool first = !second && shape_.pairs && k + 1 < shape_.per_device && pick(0, 5) == 0;
        add_instr(d, k, first, second);
        second = first;
      }
    }
    program_.lane_begin.push_back(static_cast<std::uint32_t>(program_.instrs.size()));
    waits_.resize(program_.instrs.size());
    shuffle_order();
  }

  void add_instr(std::int32_t device, std::int32_t number, bool first_of_pair, bool second_of_pair) {
    Instr instr;
    instr.action.stage = StageId{device};
    instr.action.microbatch = MicrobatchId{number};
    instr.action.op = Op::kF;
    instr.action.overlaps_next = first_of_pair ? 1 : 0;
    instr.row = static_cast<std::uint32_t>(program_.rows.size());
    program_.instrs.push_back(instr);
    plumb::Row row;
    row.holder = static_cast<std::uint32_t>(device);
    row.op = Op::kF;
    row.overlapped = first_of_pair;
    program_.rows.push_back(row);
    program_.durations.push_back(second_of_pair ? 0 : pick(0, shape_.longest));
  }

  /// `rank_[i]`: place of the unit of instr i in the global order; members of a pair have the same.
  void shuffle_order() {
    std::vector<InstrIndex> next(program_.lane_begin.begin(), program_.lane_begin.end() - 1);
    rank_.resize(program_.instrs.size());
    for (std::int32_t rank = 0, left = static_cast<std::int32_t>(rank_.size()); left > 0; ++rank) {
      std::size_t d = 0;
      do d = static_cast<std::size_t>(pick(0, shape_.devices - 1));
      while (next[d] == program_.lane_begin[d + 1]);
      bool more = true;
      for (; more; --left) {
        more = program_.rows[program_.instrs[next[d]].row].overlapped;
        rank_[next[d]++] = rank;
      }
    }
  }

  std::size_t device_of(InstrIndex i) const { return program_.rows[program_.instrs[i].row].holder; }

  void add_edges() {
    const auto last = static_cast<std::int64_t>(program_.instrs.size()) - 1;
    for (std::int32_t k = 0; k < shape_.edges; ++k) {
      const auto from = static_cast<InstrIndex>(pick(0, last));
      const auto to = static_cast<InstrIndex>(pick(0, last));
      if (device_of(from) == device_of(to) || rank_[from] >= rank_[to]) continue;
      if (shape_.transfers && pick(0, 3) != 0) {
        add_transfer(from, to);
      } else if (!shape_.transfers && pick(0, 1) == 0) {
        program_.comm = shape_.latency;
        waits_[to].push_back({from, Wait::kLatency});
      } else {
        waits_[to].push_back({from, Wait::kDirect});
      }
    }
  }

  void add_transfer(InstrIndex from, InstrIndex to) {
    Transfer transfer;
    transfer.producer = from;
    transfer.consumer = to;
    transfer.issue = from;
    const InstrIndex lane_end = program_.lane_begin[device_of(from) + 1];
    for (std::int64_t later = pick(0, shape_.max_ahead); later > 0; --later) {
      if (transfer.issue + 1 < lane_end && rank_[transfer.issue + 1] < rank_[to]) ++transfer.issue;
    }
    const auto ahead = static_cast<std::uint32_t>(pick(0, shape_.max_ahead));
    transfer.post = to - std::min<std::uint32_t>(ahead, to - program_.lane_begin[device_of(to)]);
    transfer.sent = static_cast<InstrIndex>(pick(transfer.issue + 1, lane_end));
    if (is_second(transfer.sent, lane_end)) ++transfer.sent;
    transfer.bytes = pick(0, shape_.most_bytes);
    transfer.channel = channel(DeviceId{static_cast<std::int32_t>(device_of(from))},
                               DeviceId{static_cast<std::int32_t>(device_of(to))});
    program_.transfers.push_back(transfer);
  }

  bool is_second(InstrIndex i, InstrIndex lane_end) const {
    return i < lane_end && i > 0 && program_.rows[program_.instrs[i - 1].row].overlapped;
  }

  std::uint32_t channel(DeviceId from, DeviceId to) {
    for (std::uint32_t c = 0; c < program_.channels.size(); ++c) {
      if (program_.channels[c].from == from && program_.channels[c].to == to) return c;
    }
    program_.channels.push_back({from, to, {shape_.latency, 1e9, {}, false}});
    return static_cast<std::uint32_t>(program_.channels.size() - 1);
  }

  /// Messages of a channel are issued and posted in the same order, which is their order of index.
  void order_channels() {
    auto& transfers = program_.transfers;
    std::ranges::sort(transfers, {}, [](const Transfer& t) { return std::tuple(t.issue, t.consumer); });
    std::vector<InstrIndex> latest(program_.channels.size(), 0xFFFFFFFFU);
    for (std::size_t t = transfers.size(); t-- > 0;) {
      latest[transfers[t].channel] = transfers[t].post = std::min(transfers[t].post, latest[transfers[t].channel]);
      waits_[transfers[t].consumer].push_back({transfers[t].producer, static_cast<std::uint32_t>(t)});
    }
  }

  /// A member on every device at one point of the global order; somebody waits for it after that point.
  void add_collectives() {
    const std::int32_t last_rank = *std::ranges::max_element(rank_);
    for (std::int32_t k = 0; k < shape_.collectives; ++k) {
      const auto at = static_cast<std::int32_t>(pick(0, last_rank));
      const auto number = static_cast<std::uint32_t>(program_.collectives.size());
      Collective collective;
      collective.duration = pick(0, shape_.longest);
      for (std::size_t d = 0; d + 1 < program_.lane_begin.size(); ++d) {
        InstrIndex member = program_.lane_begin[d];
        if (rank_[member] >= at) continue;
        while (member + 1 < program_.lane_begin[d + 1] && rank_[member + 1] < at) ++member;
        if (in_pair(member, d)) continue;
        program_.rows[program_.instrs[member].row].op = Op::kReduceGrad;
        collective.members.push_back(member);
      }
      if (collective.members.empty()) continue;
      for (InstrIndex i = 0; i < rank_.size(); ++i) {
        if (rank_[i] >= at && pick(0, 9) == 0) {
          waits_[i].push_back({collective.members.front(), Wait::kCollectiveBit | number});
        }
      }
      program_.collectives.push_back(collective);
    }
  }

  bool in_pair(InstrIndex i, std::size_t device) const {
    const bool second = i > program_.lane_begin[device] && program_.rows[program_.instrs[i - 1].row].overlapped;
    return second || program_.rows[program_.instrs[i].row].overlapped;
  }

  void write_waits() {
    for (InstrIndex i = 0; i < program_.instrs.size(); ++i) {
      program_.instrs[i].first_wait = static_cast<std::uint32_t>(program_.waits.size());
      program_.waits.insert(program_.waits.end(), waits_[i].begin(), waits_[i].end());
    }
    Instr sentinel;
    sentinel.first_wait = static_cast<std::uint32_t>(program_.waits.size());
    program_.instrs.push_back(sentinel);
  }

  /// Calls that cost nothing, and sends that take as long whether or not the receive is posted, are among them.
  void add_runtime() {
    if (shape_.longest_host == 0 && shape_.longest_call == 0) return;
    for (std::size_t row = 0; row < program_.rows.size(); ++row) {
      program_.runtime.host.push_back(pick(0, shape_.longest_host));
    }
    if (shape_.longest_call == 0) return;
    const auto time = [&] { return pick(0, 2) == 0 ? 0 : pick(0, shape_.longest_call); };
    for (std::size_t t = 0; t < program_.transfers.size(); ++t) {
      CallTicks call{.send = time(), .send_posted = time(), .receive = time()};
      if (pick(0, 4) == 0) call.send_posted = call.send;
      program_.runtime.calls.push_back(call);
    }
  }

  RandomProgram shape_;
  std::mt19937_64 random_;
  Program program_;
  std::vector<std::int32_t> rank_;
  std::vector<std::vector<Wait>> waits_;
};

}  // namespace

Program random_program(const RandomProgram& shape, std::uint64_t seed) {
  return RandomProgramMaker(shape, seed).make();
}

}  // namespace plumb::testing
