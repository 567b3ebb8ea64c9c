#include "schedules/lowering/pair_cost.hpp"

#include <algorithm>
#include <cstddef>

namespace plumb::lowering {
namespace {

constexpr bool is_pass(Op op) { return op <= Op::kR; }

constexpr bool passes_are_numbered_as_ops() {
  for (std::size_t op = 0; op < kPairedPasses.size(); ++op) {
    if (kOpNames[op] != kPairedPasses.substr(op, 1)) return false;
  }
  return kPairedPasses.size() == static_cast<std::size_t>(Op::kR) + 1;
}
static_assert(passes_are_numbered_as_ops(), "pairs are found by the number of an op");

CommTime communication_of(const StageTimes& times, Op op) {
  switch (op) {
    case Op::kF:
    case Op::kR:
      return times.f_comm;
    case Op::kB:
      return times.b_comm;
    case Op::kI:
      return times.i_comm;
    case Op::kW:
      return times.w_comm;
    default:
      return {};
  }
}

}  // namespace

PairHalf communication_half(const StageTimes& times, Op op, bool recompute) {
  const CommTime own = communication_of(times, op);
  const CommTime again = recompute && is_backward(op) ? times.f_comm : CommTime{};
  return {.comm = own.all + again.all, .uncovered = own.shown + again.shown};
}

Ticks given_pair_time(const PairTimes& pairs, Op one, Op other) {
  if (!is_pass(one) || !is_pass(other)) return 0;
  return pairs.ticks[PairTimes::place(static_cast<std::size_t>(one), static_cast<std::size_t>(other))];
}

Ticks pair_time(const PairHalf& one, const PairHalf& other, std::optional<Ticks> given) {
  if (given) return *given + one.recompute + other.recompute;
  const Ticks computation = one.alone - one.uncovered + other.alone - other.uncovered;
  return std::max({computation, one.comm + other.comm, one.alone, other.alone});
}

}  // namespace plumb::lowering
