#include "trainer/checkpoint/checkpoint_cut.hpp"

#include <algorithm>

#include "schedules/program/waits.hpp"

namespace plumb {
namespace {

class CutSearch {
 public:
  explicit CutSearch(const Program& program) : program_(program) {
    cut_.assign(program.lane_begin.begin(), program.lane_begin.end() - 1);
  }

  std::vector<InstrIndex> after_updates(std::int64_t updates) {
    std::vector<std::int64_t> done(program_.holders.size(), 0);
    std::vector<std::int64_t> validated(program_.holders.size(), 0);
    for (InstrIndex at = 0; at < program_.size(); ++at) {
      const Row& row = program_.rows[program_.instrs[at].row];
      if (row.op == Op::kU && done[row.holder]++ < updates) include(at);
      if (row.op == Op::kV && validated[row.holder]++ < updates) include(at);
    }
    close();
    return cut_;
  }

 private:
  std::size_t device_of(InstrIndex at) const {
    return index(program_.holders[program_.rows[program_.instrs[at].row].holder].device);
  }

  /// Moves the cut after `at` and its pair.
  void include(InstrIndex at) {
    InstrIndex& cut = cut_[device_of(at)];
    if (at < cut) return;
    cut = unit_end(program_, at);
  }

  /// Includes whatever the included instrs wait for. Every instr is looked at once.
  void close() {
    std::vector<InstrIndex> closed(program_.lane_begin.begin(), program_.lane_begin.end() - 1);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t device = 0; device < cut_.size(); ++device) {
        for (; closed[device] < cut_[device]; ++closed[device], changed = true) include_sources(closed[device]);
      }
    }
  }

  void include_sources(InstrIndex at) {
    all_waits(program_, at, at + 1, [&](const Wait& wait) {
      return all_sources(program_, wait, [&](InstrIndex source) {
        include(source);
        return true;
      });
    });
  }

  const Program& program_;
  std::vector<InstrIndex> cut_;
};

}  // namespace

std::vector<InstrIndex> checkpoint_cut(const Program& program, std::int64_t updates) {
  return CutSearch(program).after_updates(updates);
}

}  // namespace plumb
