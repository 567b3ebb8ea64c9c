#include "schedules/program/topological_order.hpp"

namespace plumb {

std::vector<InstrIndex> topological_order(const Program& program) {
  std::vector<InstrIndex> order;
  order.reserve(program.size());
  run_untimed(
      program, [](UntimedRun&, std::uint32_t, InstrIndex, InstrIndex) { return true; },
      [&](std::uint32_t, InstrIndex first, InstrIndex end) {
        for (; first != end; ++first) order.push_back(first);
      });
  return order;
}

}  // namespace plumb
