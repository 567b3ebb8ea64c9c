#include "tests/support/happens_before.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "schedules/program/waits.hpp"

namespace plumb {
namespace {

using Kind = StreamCall::Kind;
/// By stream: calls of it that are known to be done. (Mattern 1989; Fidge 1988)
using Clock = std::vector<std::uint32_t>;

void join(Clock& clock, const Clock& other) {
  clock.resize(std::max(clock.size(), other.size()));
  for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

/// A call of a stream, and its number there.
struct Epoch {
  std::size_t stream = 0;
  std::uint32_t number = 0;
  std::size_t call = 0;  ///< into the log
};

/// What every stream knows to be done, as the log goes on.
class Clocks {
 public:
  /// False for a wait for an event that was never recorded.
  bool step(const StreamCall& call) {
    if (call.kind == Kind::kSynchronize) {
      for (Clock& clock : streams_) join(all_, clock);
      for (Clock& clock : streams_) join(clock, all_);
      return true;
    }
    if (call.kind == Kind::kSeen) {
      join(all_, events_.at(call.event));
      for (Clock& clock : streams_) join(clock, all_);
      return true;
    }
    Clock& clock = of(call.stream);
    if (call.kind == Kind::kRecord) events_[call.event] = clock;
    if (call.kind == Kind::kWait) {
      const auto event = events_.find(call.event);
      if (event == events_.end()) return false;
      join(clock, event->second);
    }
    ++clock[static_cast<std::size_t>(call.stream)];
    return true;
  }

  Clock& of(StreamId stream) {
    const auto number = static_cast<std::size_t>(stream);
    while (streams_.size() <= number) streams_.push_back(all_);
    if (streams_[number].size() <= number) streams_[number].resize(number + 1);
    return streams_[number];
  }

  Epoch epoch(const StreamCall& call, std::size_t at) {
    const auto number = static_cast<std::size_t>(call.stream);
    return {number, of(call.stream)[number], at};
  }

  static bool knows(const Clock& clock, const Epoch& epoch) {
    return epoch.stream < clock.size() && clock[epoch.stream] >= epoch.number;
  }

 private:
  Clock all_;  ///< what the host knows
  std::vector<Clock> streams_;
  std::map<EventId, Clock> events_;
};

/// The last accesses to a piece of memory.
struct Piece {
  const std::byte* end = nullptr;
  std::optional<Epoch> write;
  std::vector<Epoch> reads;  ///< since the write; one per stream
  bool alive = true;         ///< not after the end of a block
  bool written = true;       ///< something is there to be read
};

class RaceFinder {
 public:
  explicit RaceFinder(const StreamLog& log) : log_(log) {}

  std::vector<std::string> find() {
    for (std::size_t at = 0; at < log_.size(); ++at) look_at(at);
    return {findings_.begin(), findings_.end()};
  }

 private:
  void look_at(std::size_t at) {
    const StreamCall& call = log_[at];
    if (call.kind == Kind::kStream) devices_[call.stream] = call.device;
    if (call.kind == Kind::kAllocate) return begin_memory(call);
    if (call.kind == Kind::kFree) return end_memory(call);
    if (!clocks_.step(call)) add(text_of(call) + ", which was never recorded");
    if (call.kind == Kind::kBegin || call.kind == Kind::kEnd) return change_block(call, at);
    if (call.kind != Kind::kWork && call.kind != Kind::kCopy && call.kind != Kind::kSend) return;
    check_devices(call);
    for (const Access& access : call.accesses) touch(call, at, access);
  }

  void add(const std::string& finding) { findings_.insert(finding); }

  void begin_memory(const StreamCall& call) {
    const std::span<const std::byte> bytes = call.accesses.front().bytes;
    memory_[bytes.data()] = {bytes.data() + bytes.size(), call.device};
    pieces_[bytes.data()] = {.end = bytes.data() + bytes.size(), .write = {}, .reads = {}, .written = false};
  }

  void end_memory(const StreamCall& call) {
    const auto memory = memory_.find(call.accesses.front().bytes.data());
    if (memory == memory_.end()) return;
    pieces_.erase(pieces_.lower_bound(memory->first), pieces_.lower_bound(memory->second.end));
    memory_.erase(memory);
  }

  /// Nothing where the memory is the host's.
  std::optional<DeviceId> device_of(const std::byte* address) const {
    auto memory = memory_.upper_bound(address);
    if (memory == memory_.begin()) return std::nullopt;
    --memory;
    if (address >= memory->second.end) return std::nullopt;
    return memory->second.device;
  }

  void check_devices(const StreamCall& call) {
    const DeviceId own = devices_[call.stream];
    for (const Access& access : call.accesses) {
      if (access.bytes.empty()) continue;
      const auto device = device_of(access.bytes.data());
      if (!device && call.kind == Kind::kWork) add(text_of(call) + " touches memory of the host");
      const bool may = !device || *device == own || (call.kind == Kind::kSend && *device == call.device);
      if (!may) add(text_of(call) + " touches memory of device " + std::to_string(index(*device)));
    }
  }

  void change_block(const StreamCall& call, std::size_t at) {
    for_each_piece(call.accesses.front().bytes, [&](Piece& piece) {
      check(call, piece, true, false);
      piece.write = clocks_.epoch(call, at);
      piece.reads.clear();
      piece.alive = call.kind == Kind::kBegin;
      piece.written = false;
    });
  }

  void touch(const StreamCall& call, std::size_t at, const Access& access) {
    for_each_piece(access.bytes, [&](Piece& piece) {
      check(call, piece, access.writes, true);
      const Epoch now = clocks_.epoch(call, at);
      if (access.writes) {
        piece.write = now;
        piece.reads.clear();
        piece.written = true;
      } else {
        std::erase_if(piece.reads, [&](const Epoch& read) { return read.stream == now.stream; });
        piece.reads.push_back(now);
      }
    });
  }

  void check(const StreamCall& call, const Piece& piece, bool writes, bool is_access) {
    if (is_access && !piece.alive) add(text_of(call) + " touches a block after its end");
    if (is_access && !writes && !piece.written) add(text_of(call) + " reads what nobody has written");
    const Clock& clock = clocks_.of(call.stream);
    if (piece.write && !Clocks::knows(clock, *piece.write)) report(call, *piece.write);
    if (!writes) return;
    for (const Epoch& read : piece.reads) {
      if (!Clocks::knows(clock, read)) report(call, read);
    }
  }

  void report(const StreamCall& call, const Epoch& other) {
    add(text_of(call) + " is not ordered after " + text_of(log_[other.call]));
  }

  /// Cuts the pieces at the ends of `bytes`, and visits those in between.
  template <class Visit>
  void for_each_piece(std::span<const std::byte> bytes, const Visit& visit) {
    if (bytes.empty() || !device_of(bytes.data())) return;
    const std::byte* end = bytes.data() + bytes.size();
    cut(bytes.data());
    cut(end);
    for (auto piece = pieces_.find(bytes.data()); piece != pieces_.end() && piece->first < end; ++piece) {
      visit(piece->second);
    }
  }

  void cut(const std::byte* at) {
    auto piece = pieces_.upper_bound(at);
    if (piece == pieces_.begin()) return;
    --piece;
    if (piece->first == at || at >= piece->second.end) return;
    pieces_.emplace(at, piece->second);
    piece->second.end = at;
  }

  struct Memory {
    const std::byte* end = nullptr;
    DeviceId device{};
  };

  const StreamLog& log_;
  Clocks clocks_;
  std::map<StreamId, DeviceId> devices_;
  std::map<const std::byte*, Memory> memory_;
  std::map<const std::byte*, Piece> pieces_;
  std::set<std::string> findings_;
};

/// The first and last work of every instr.
struct InstrWork {
  Clock before_first;
  Epoch last;
  bool any = false;
};

std::vector<InstrWork> work_of_instrs(const StreamLog& log, std::size_t instrs) {
  std::vector<InstrWork> works(instrs);
  std::map<StreamId, std::uint32_t> current;
  Clocks clocks;
  for (std::size_t at = 0; at < log.size(); ++at) {
    const StreamCall& call = log[at];
    if (call.kind == Kind::kAllocate || call.kind == Kind::kFree) continue;
    clocks.step(call);
    if (call.kind == Kind::kInstr) current[call.stream] = call.instr;
    const auto instr = current.find(call.stream);
    const bool is_work = call.kind == Kind::kWork || call.kind == Kind::kCopy;
    if (!is_work || instr == current.end() || instr->second == StreamMachine::kNoInstr) continue;
    InstrWork& work = works[instr->second];
    if (!std::exchange(work.any, true)) work.before_first = clocks.of(call.stream);
    work.last = clocks.epoch(call, at);
  }
  return works;
}

}  // namespace

std::vector<std::string> find_races(const StreamLog& log) { return RaceFinder(log).find(); }

std::vector<std::string> find_missing_edges(const StreamLog& log, const Program& program) {
  const std::vector<InstrWork> works = work_of_instrs(log, program.size());
  std::vector<std::string> findings;
  const auto check = [&](InstrIndex source, InstrIndex target) {
    const InstrWork& before = works[source];
    const InstrWork& after = works[target];
    if (!before.any || !after.any || Clocks::knows(after.before_first, before.last)) return;
    findings.push_back("instr " + std::to_string(target) + " may begin before instr " + std::to_string(source) +
                       " is done");
  };
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const std::uint32_t end = program.instrs[at + 1].first_wait;
    for (std::uint32_t i = program.instrs[at].first_wait; i < end; ++i) {
      const Wait& wait = program.waits[i];
      if (!is_for_collective(wait)) {
        check(wait.source, at);
        continue;
      }
      for (const InstrIndex member : program.collectives[collective_of(wait)].members) check(member, at);
    }
  }
  return findings;
}

}  // namespace plumb
