#include "schedules/catalogue/list_builder.hpp"

namespace plumb {
namespace {

/// Loops of at most this many actions in all are written out.
constexpr std::int64_t kWrittenOut = 4;

}  // namespace

Action ListBuilder::action(StageId stage, Op op, std::int64_t number, ReplicaId replica) {
  Action action;
  action.stage = stage;
  action.op = op;
  action.microbatch = MicrobatchId{static_cast<std::int32_t>(number)};
  action.replica = replica;
  return action;
}

void ListBuilder::add(StageId stage, Op op, std::int64_t number, ReplicaId replica) {
  list_.actions.push_back(action(stage, op, number, replica));
}

void ListBuilder::add_slice(StageId stage, Op op, std::int64_t number, std::int64_t slice) {
  add(stage, op, number);
  list_.actions.back().slice = static_cast<std::int16_t>(slice);
}

void ListBuilder::add_merged(StageId stage, Op op, std::int64_t first, std::int64_t count, ReplicaId replica) {
  add(stage, op, first, replica);
  list_.actions.back().merged = static_cast<std::uint8_t>((count - 1) & 127);
}

void ListBuilder::add_collective(StageId stage, Op op, ReplicaId replica) { add(stage, op, -1, replica); }

void ListBuilder::add_move(StageId stage, Op op, std::int16_t where) {
  add(stage, op, -1);
  list_.actions.back().where = where;
}

void ListBuilder::add_pair(Action first, const Action& second) {
  first.overlaps_next = 1;
  list_.actions.push_back(first);
  list_.actions.push_back(second);
}

void ListBuilder::close(const Mark& begin, std::int64_t count, const Advance& advance) {
  const std::size_t length = list_.actions.size() - begin.action;
  if (length == 0 || count == 1) return;
  const bool flat = list_.repeats.size() == begin.repeat;
  if (!flat || count * static_cast<std::int64_t>(length) > kWrittenOut) {
    const Repeat block{begin.action, list_.actions.size(), count, advance};
    list_.repeats.insert(list_.repeats.begin() + static_cast<std::ptrdiff_t>(begin.repeat), block);
    return;
  }
  for (std::int64_t i = 1; i < count; ++i) {
    for (std::size_t j = 0; j < length; ++j) {
      list_.actions.push_back(advanced(list_.actions[list_.actions.size() - length], advance));
    }
  }
}

}  // namespace plumb
