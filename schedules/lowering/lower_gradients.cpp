#include <algorithm>
#include <cstddef>
#include <vector>

#include "schedules/lowering/lower_state.hpp"

namespace plumb::lowering {

void count_gradient_blocks(State& state) {
  Program& program = state.program;
  const auto is_reduced = [](std::int32_t groups) { return groups != 0; };
  if (!program.asynchronous || std::ranges::none_of(state.reduces_with, is_reduced)) return;
  std::vector<std::size_t> reduced(program.holders.size(), 0);
  std::vector<std::size_t> updated(program.holders.size(), 0);
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const Row& row = program.rows[program.instrs[at].row];
    const Action& action = program.instrs[at].action;
    if (row.op == Op::kReduceGrad) ++reduced[row.holder];
    if (row.op == Op::kU) ++updated[row.holder];
    if (!is_backward(row.op) && row.op != Op::kW) continue;
    const auto per_update = static_cast<std::size_t>(state.schedule.per_update(action.stage));
    program.parts.for_each(action, [&](std::size_t microbatch, std::size_t, std::size_t) {
      const std::size_t update = microbatch / per_update;
      const bool waiting = updated[row.holder] < update && reduced[row.holder] >= update;
      if (waiting) program.holders[row.holder].gradient_blocks = 2;
    });
  }
}

}  // namespace plumb::lowering
