#include "schedules/catalogue/asynchronous/flush_free.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace plumb {
namespace {

/// Writes `Turns`; forwards and backwards are numbered from 0 in turn, and turns are grouped into updates, updates
/// into the spans between exchanges.
///
/// Turn t has the backward of t and the forward of t + warmup; turns before 0 have no backward.
class TurnWriter {
 public:
  TurnWriter(ListBuilder& list, const Turns& of) : list_(list), of_(of) {
    groups_.push_back(of.per_update);
    if (of.syncs_each > 0) groups_.push_back(of.per_update * of.syncs_each);
  }

  void write() {
    std::vector<std::int64_t> cuts{-of_.warmup, of_.microbatches - of_.warmup, 0, of_.microbatches};
    std::ranges::sort(cuts);
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const std::int64_t begin = cuts[i];
      if (begin < 0) {
        list_.repeat(is_number(begin + of_.warmup) ? cuts[i + 1] - begin : 0, step(1), [&] { turn(begin); });
      } else {
        turns(groups_.size(), begin, cuts[i + 1]);
      }
    }
  }

 private:
  bool is_number(std::int64_t number) const { return number >= 0 && number < of_.microbatches; }

  Advance step(std::int64_t turns) const {
    return {.microbatch = static_cast<std::int32_t>(turns * of_.stride),
            .update = static_cast<std::int32_t>(turns / of_.per_update)};
  }

  void add(Op op, std::int64_t number) const { list_.add(of_.stage, op, of_.first + number * of_.stride, of_.replica); }

  void turn(std::int64_t number) const {
    if (is_number(number + of_.warmup)) add(Op::kF, of_.warmup + number);
    if (number >= 0) add(Op::kB, number);
  }

  /// What comes after group `level` that ends with turn `turns` - 1.
  void end_group(std::size_t level, std::int64_t turns) const {
    if (level == 2) {
      list_.add_collective(of_.stage, Op::kSyncWeights, of_.replica);
      return;
    }
    if (of_.reduces) list_.add_collective(of_.stage, Op::kReduceGrad, of_.replica);
    list_.add(of_.stage, Op::kU, of_.update + turns / of_.per_update - 1, of_.replica);
  }

  /// Turns [begin, end) in groups of `level` (0: single turns): the rest of a group, whole groups, the start of one.
  void turns(std::size_t level, std::int64_t begin, std::int64_t end) const {
    if (begin >= end) return;
    if (level == 0) {
      list_.repeat(end - begin, step(1), [&] { turn(begin); });
      return;
    }
    const std::int64_t size = groups_[level - 1];
    if (begin % size != 0) {
      const std::int64_t stop = std::min((begin / size + 1) * size, end);
      turns(level - 1, begin, stop);
      if (stop % size == 0) end_group(level, stop);
      begin = stop;
    }
    const std::int64_t whole = (end - begin) / size;
    list_.repeat(whole, step(size), [&] {
      turns(level - 1, begin, begin + size);
      end_group(level, begin + size);
    });
    turns(level - 1, begin + whole * size, end);
  }

  ListBuilder& list_;
  const Turns& of_;
  std::vector<std::int64_t> groups_;  ///< turns of an update, and of a span between exchanges
};

}  // namespace

void add_turns(ListBuilder& list, const Turns& turns) { TurnWriter(list, turns).write(); }

std::int64_t steady_updates(const ScheduleParams& params, std::int64_t fill) {
  const std::int64_t m = params.num_microbatches;
  return updates_or(params, std::clamp(kMostMicrobatches / m, std::int64_t{1}, 4 * ((fill + m - 1) / m)));
}

}  // namespace plumb
