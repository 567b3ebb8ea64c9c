#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "schedules/catalogue/list_builder.hpp"
#include "schedules/catalogue/registry.hpp"

namespace plumb {

/// Microbatches that pass a chunk together: the option `group`, or `otherwise` if it is not given. Throws `Error`
/// unless groups hold at least p microbatches (or all of them), the last one included.
std::int64_t group_size(std::string_view name, const ScheduleParams& params, std::int64_t otherwise);

/// The order in which every device takes its units, a unit being one microbatch through one chunk: groups of
/// `group` microbatches (the last may be shorter), each through all chunks before the next group starts.
struct UnitOrder {
  std::int64_t microbatches = 0;
  std::int64_t group = 0;
  std::int64_t chunks = 0;

  /// Unit `number`; `run` units from it on are consecutive microbatches of the same chunk.
  struct Unit {
    std::int64_t chunk = 0;
    std::int64_t microbatch = 0;
    std::int64_t run = 0;
  };

  std::int64_t size() const { return microbatches * chunks; }
  std::int64_t per_group() const { return group * chunks; }
  /// Units in groups of full size.
  std::int64_t in_full_groups() const { return microbatches / group * per_group(); }

  Unit at(std::int64_t number) const {
    const std::int64_t first = number / per_group() * group;
    const std::int64_t length = std::min(group, microbatches - first);
    const std::int64_t inside = number % per_group();
    return {inside / length, first + inside % length, length - inside % length};
  }
};

/// An op that takes units `offset` after the number of the step.
struct UnitLane {
  Op op{};
  std::int64_t offset = 0;
  bool with_next = false;  ///< overlapped with the unit of the next lane
};

/// Writes one device's units, as blocks of consecutive microbatches. Chunk c of device d is stage c * p + d; forwards
/// take the chunks in ascending order, everything else in descending order.
struct UnitWriter {
  const UnitOrder& order;
  ListBuilder& list;
  std::int32_t device;
  std::int32_t num_devices;

  /// Steps [begin, end), each of them one unit of every lane, in the order of the lanes.
  void steps(std::int64_t begin, std::int64_t end, std::initializer_list<UnitLane> lanes) const {
    while (begin < end) {
      std::int64_t count = end - begin;
      for (const UnitLane& lane : lanes) count = std::min(count, order.at(begin + lane.offset).run);
      list.each(count, [&] {
        for (const UnitLane& lane : lanes) write(lane.op, order.at(begin + lane.offset), lane.with_next);
      });
      begin += count;
    }
  }

  /// Steps [begin, end) as `steps` writes them, whole groups folded: the last lane must not reach beyond them.
  void folded_steps(std::int64_t begin, std::int64_t end, std::initializer_list<UnitLane> lanes) const {
    std::int64_t after = 0;
    for (const UnitLane& lane : lanes) after = std::max(after, lane.offset);
    const std::int64_t whole = std::min(end, order.in_full_groups() - after);
    const std::int64_t rounds = std::max<std::int64_t>(whole - begin, 0) / order.per_group();
    const Advance next_group{.microbatch = static_cast<std::int32_t>(order.group)};
    list.repeat(rounds, next_group, [&] { steps(begin, begin + order.per_group(), lanes); });
    steps(begin + rounds * order.per_group(), end, lanes);
  }

  /// The update of every chunk.
  void updates() const {
    for (std::int64_t chunk = 0; chunk < order.chunks; ++chunk) list.add(stage(chunk), Op::kU, 0);
  }

 private:
  StageId stage(std::int64_t chunk) const { return StageId{static_cast<std::int32_t>(chunk) * num_devices + device}; }

  void write(Op op, const UnitOrder::Unit& unit, bool with_next) const {
    Action action =
        ListBuilder::action(stage(op == Op::kF ? unit.chunk : order.chunks - 1 - unit.chunk), op, unit.microbatch);
    action.overlaps_next = with_next;
    list.add_all({&action, 1});
  }
};

}  // namespace plumb
