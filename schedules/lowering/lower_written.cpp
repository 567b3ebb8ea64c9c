#include <algorithm>
#include <array>

#include "schedules/lowering/lower_state.hpp"
#include "schedules/lowering/microbatch_runs.hpp"
#include "schedules/lowering/row_table.hpp"
#include "schedules/program/written_program.hpp"

namespace plumb::lowering {
namespace {

/// Pieces in which the lists are read at most: a document that is not folded is no shorter than its program.
constexpr std::size_t kMostListPieces = std::size_t{1} << 24U;

/// What is given and taken in the same order: forwards, backwards, weight gradients (which nobody takes).
constexpr std::size_t kKinds = 3;

constexpr std::size_t kind_of(Op op) { return op == Op::kF ? 0 : is_backward(op) ? 1 : 2; }

bool is_plainly_written(const Action& action) {
  const bool known = action.op == Op::kU || (action.op <= Op::kW && static_cast<std::int32_t>(action.microbatch) >= 0);
  return known && action.merged == 0 && !action.overlaps_next && action.slice == Action::kAllSlices;
}

/// Whether every action of the document is what its row says, whichever microbatch it names, and waits for nothing but
/// the one value that it takes.
bool has_plain_lists(const State& state) {
  const Schedule& schedule = state.schedule;
  const auto is_reduced = [](std::int32_t groups) { return groups != 0; };
  if (state.has_transfers() || state.program.asynchronous || state.validates || !state.parts.plain() ||
      !schedule.recompute.empty() || !schedule.extra_edges.empty() || !schedule.start_together.empty() ||
      schedule.placement.size() != 1 || state.program.holders.size() != static_cast<std::size_t>(schedule.num_stages) ||
      std::ranges::any_of(state.reduces_with, is_reduced)) {
    return false;
  }
  return std::ranges::all_of(schedule.devices, [](const DeviceList& list) {
    const auto runs = [](const Repeat& repeat) { return repeat.count > 0 && repeat.begin < repeat.end; };
    return std::ranges::all_of(list.actions, is_plainly_written) && std::ranges::all_of(list.repeats, runs);
  });
}

/// In which order the microbatches of every kind and stage stand in their list.
class ListOrders {
 public:
  explicit ListOrders(const Schedule& schedule)
      : schedule_(schedule), runs_(kKinds * static_cast<std::size_t>(schedule.num_stages)), seen_(runs_.size(), 0) {}

  const MicrobatchRuns& of(Op op, StageId stage) const { return runs_[place(op, stage)]; }

  /// False when the lists are too long to be read, or name microbatches that do not exist.
  bool read() {
    for (const DeviceList& list : schedule_.devices) {
      if (!read(list, 0, list.actions.size(), 0, 0)) return false;
    }
    return std::ranges::all_of(runs_, [&](const MicrobatchRuns& runs) {
      return runs.within(schedule_.num_microbatches) && runs.size() <= schedule_.num_microbatches;
    });
  }

 private:
  std::size_t place(Op op, StageId stage) const { return kKinds * index(stage) + kind_of(op); }

  void add(const Action& action, std::int64_t offset, std::int64_t step, std::int64_t count) {
    if (action.op == Op::kU) return;
    runs_[place(action.op, action.stage)].add(static_cast<std::int32_t>(action.microbatch) + offset, step, count);
    ++pieces_;
  }

  /// Whether no two actions of [begin, end) are of one kind and stage, so that each of them is a sequence of its own.
  bool are_apart(const DeviceList& list, std::size_t begin, std::size_t end) {
    ++look_;
    for (std::size_t at = begin; at < end; ++at) {
      const Action& action = list.actions[at];
      if (action.op == Op::kU) continue;
      std::size_t& seen = seen_[place(action.op, action.stage)];
      if (seen == look_) return false;
      seen = look_;
    }
    return true;
  }

  /// As `walk` does, but a repeat without others inside is added at once.
  bool read(const DeviceList& list, std::size_t begin, std::size_t end, std::size_t next, std::int64_t offset) {
    for (std::size_t at = begin; at < end;) {
      if (pieces_ > kMostListPieces) return false;
      if (next >= list.repeats.size() || list.repeats[next].begin != at || list.repeats[next].end > end) {
        add(list.actions[at++], offset, 0, 1);
        continue;
      }
      const Repeat& repeat = list.repeats[next];
      const std::int64_t step = repeat.advance.microbatch;
      const bool innermost = next + 1 >= list.repeats.size() || list.repeats[next + 1].begin >= repeat.end;
      if (innermost && are_apart(list, at, repeat.end)) {
        for (; at < repeat.end; ++at) add(list.actions[at], offset, step, repeat.count);
      } else {
        for (std::int64_t i = 0; i < repeat.count; ++i) {
          if (!read(list, at, repeat.end, next + 1, offset + i * step)) return false;
        }
        at = repeat.end;
      }
      do ++next;
      while (next < list.repeats.size() && list.repeats[next].begin < at);
    }
    return true;
  }

  const Schedule& schedule_;
  std::vector<MicrobatchRuns> runs_;  ///< by stage and kind
  std::vector<std::size_t> seen_;     ///< by stage and kind: the last look that met it
  std::size_t look_ = 0;
  std::size_t pieces_ = 0;
};

/// The streams between stages: by stage and kind, from whom it takes and to whom it gives.
class Streams {
 public:
  Streams(const State& state, const ListOrders& orders) : state_(state), orders_(orders) {
    for (auto& table : tables_) table.assign(2 * orders_stages(), WrittenProgram::kNoStream);
  }

  /// False where a stage takes from several or gives to several, or in another order than that in which it is given.
  bool connect(WrittenProgram& written) {
    for (const Op op : {Op::kF, Op::kB}) {
      for (std::int32_t number = 0; number < state_.schedule.num_stages; ++number) {
        const StageId stage{number};
        const auto sources = state_.rules.sources(op, stage);
        if (sources.empty()) continue;
        std::uint32_t& given = at(gives, op, sources.front());
        if (sources.size() > 1 || given != WrittenProgram::kNoStream) return false;
        if (!(orders_.of(op, stage) == orders_.of(op, sources.front()))) return false;
        given = at(takes, op, stage) = static_cast<std::uint32_t>(written.takers.size());
        written.givers.push_back(device_of(sources.front()));
        written.takers.push_back(device_of(stage));
      }
    }
    return true;
  }

  std::uint32_t taken_by(const Action& action) const { return of(takes, action); }
  std::uint32_t given_by(const Action& action) const { return of(gives, action); }

 private:
  enum Side : std::uint8_t { takes, gives };

  std::size_t orders_stages() const { return static_cast<std::size_t>(state_.schedule.num_stages); }
  DeviceId device_of(StageId stage) const { return state_.schedule.placement[0][index(stage)][0]; }
  std::uint32_t& at(Side side, Op op, StageId stage) { return tables_[side][2 * index(stage) + kind_of(op)]; }
  std::uint32_t of(Side side, const Action& action) const {
    const bool travels = action.op == Op::kF || is_backward(action.op);
    return travels ? tables_[side][2 * index(action.stage) + kind_of(action.op)] : WrittenProgram::kNoStream;
  }

  const State& state_;
  const ListOrders& orders_;
  std::array<std::vector<std::uint32_t>, 2> tables_;  ///< by side, then by stage and kind
};

void write_lanes(State& state, const Streams& streams, WrittenProgram& written) {
  RowTable rows(state);
  Program& program = state.program;
  for (std::int32_t device = 0; device < state.schedule.num_devices; ++device) {
    rows.begin_device(DeviceId{device});
    const auto begin = static_cast<InstrIndex>(program.instrs.size());
    program.lane_begin.push_back(begin);
    written.loop_begin.push_back(static_cast<std::uint32_t>(written.loops.size()));
    const DeviceList& list = state.schedule.devices[static_cast<std::size_t>(device)];
    for (const Action& action : list.actions) {
      program.instrs.push_back({action, rows.row(action, false), 0});
      written.takes.push_back(streams.taken_by(action));
      written.gives.push_back(streams.given_by(action));
    }
    for (const Repeat& repeat : list.repeats) {
      written.loops.push_back({begin + static_cast<InstrIndex>(repeat.begin),
                               begin + static_cast<InstrIndex>(repeat.end), repeat.count, repeat.advance});
    }
  }
  program.lane_begin.push_back(static_cast<InstrIndex>(program.instrs.size()));
  written.loop_begin.push_back(static_cast<std::uint32_t>(written.loops.size()));
}

}  // namespace

std::optional<WrittenProgram> written_lanes(State& state) {
  if (!has_plain_lists(state)) return std::nullopt;
  for (std::int32_t device = 0; device < state.schedule.num_devices; ++device) {
    if (lacks_updates(state, DeviceId{device})) return std::nullopt;
  }
  ListOrders orders(state.schedule);
  if (!orders.read()) return std::nullopt;
  WrittenProgram written;
  Streams streams(state, orders);
  if (!streams.connect(written)) return std::nullopt;
  write_lanes(state, streams, written);
  written.program = std::move(state.program);
  return written;
}

}  // namespace plumb::lowering
