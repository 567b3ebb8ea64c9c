#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// A pattern of numbered things that comes again every `length` of them, `advance` later.
struct Period {
  std::int64_t length = 1;
  Advance advance;
};

/// Writes one device's list in order, with loops folded into repeat blocks as the calls give them.
///
/// A loop of a few actions in all is written out instead: `0F0 0F1 0F2` reads better than a block.
class ListBuilder {
 public:
  /// `op` of `stage` on microbatch (update, for U) `number`, as `add` appends it.
  static Action action(StageId stage, Op op, std::int64_t number, ReplicaId replica = {});

  /// Appends an action as it is.
  void add(const Action& action) { list_.actions.push_back(action); }

  /// Appends `op` of `stage` on microbatch (update, for U) `number`.
  void add(StageId stage, Op op, std::int64_t number, ReplicaId replica = {});

  /// Appends `op` of `stage` on one slice of microbatch `number`.
  void add_slice(StageId stage, Op op, std::int64_t number, std::int64_t slice);

  /// Appends one `op` of `stage` on `count` microbatches from `first` on: `0F4+5`. `count` is from 1 to 128.
  void add_merged(StageId stage, Op op, std::int64_t first, std::int64_t count, ReplicaId replica = {});

  /// Appends a collective of `stage`.
  void add_collective(StageId stage, Op op, ReplicaId replica = {});

  /// Appends two actions as one overlapped pair.
  void add_pair(Action first, const Action& second);

  /// Appends EVICT or LOAD of the weights of `stage`, to or from `where` (a device or `Action::kHost`).
  void add_move(StageId stage, Op op, std::int16_t where);

  /// What `body` appends, `count` times (none when `count` <= 0); `body` is called at most once.
  template <class Body>
  void repeat(std::int64_t count, Advance advance, Body&& body) {
    if (count <= 0) return;
    const Mark begin = mark();
    std::forward<Body>(body)();
    close(begin, count, advance);
  }

  /// An end of the list so far.
  struct Mark {
    std::size_t action = 0;
    std::size_t repeat = 0;
  };
  Mark mark() const { return {list_.actions.size(), list_.repeats.size()}; }

  /// Makes what has been appended since `begin` the first of `count` turns.
  void close(const Mark& begin, std::int64_t count, const Advance& advance);

  /// `repeat` over consecutive microbatches.
  template <class Body>
  void each(std::int64_t count, Body&& body) {
    repeat(count, {.microbatch = 1}, std::forward<Body>(body));
  }

  /// What `write(n)` appends for n from `begin` to `end` - 1, where `write(n + period.length)` would append the same,
  /// `period.advance` later.
  template <class Write>
  void periodic(std::int64_t begin, std::int64_t end, const Period& period, Write&& write) {
    const std::int64_t turns = begin < end ? (end - begin) / period.length : 0;
    repeat(turns, period.advance, [&] {
      for (std::int64_t n = begin; n < begin + period.length; ++n) write(n);
    });
    for (std::int64_t n = begin + turns * period.length; n < end; ++n) write(n);
  }

  /// Appends actions as they are.
  void add_all(std::span<const Action> actions) {
    list_.actions.insert(list_.actions.end(), actions.begin(), actions.end());
  }

  DeviceList take() { return std::move(list_); }

  /// A copy in as much room as it needs; the next list is written where this one was.
  DeviceList take_fitting() {
    DeviceList copy = list_;
    list_.actions.clear();
    list_.repeats.clear();
    return copy;
  }

 private:
  DeviceList list_;
};

}  // namespace plumb
