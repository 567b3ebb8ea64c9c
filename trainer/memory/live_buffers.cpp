#include "trainer/memory/live_buffers.hpp"

#include "schedules/document/part_table.hpp"

namespace plumb {

bool takes_value(const Program& program, InstrIndex at, const ValueKey& key) {
  const Action action = program.work_of(at);
  const bool waits = key.op == Op::kX && index(key.stage) == static_cast<std::size_t>(program.num_stages);
  const bool same_op = waits ? action.op == Op::kF : key.op == Op::kB ? is_backward(action.op) : action.op == key.op;
  const std::int32_t stage = static_cast<std::int32_t>(key.stage) - (waits ? 1 : 0);
  return same_op && action.stage == StageId{stage} &&
         names(action, index(key.microbatch), static_cast<std::size_t>(key.slice));
}

}  // namespace plumb
