#include <algorithm>

#include "schedules/generator.hpp"

namespace plumb {
namespace {

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

/// Writes one device's units, as blocks of consecutive microbatches.
struct UnitWriter {
  const UnitOrder& order;
  ListBuilder& list;
  std::int32_t device;
  std::int32_t num_devices;

  void write(Op op, const UnitOrder::Unit& unit) const {
    const std::int64_t chunk = op == Op::kF ? unit.chunk : order.chunks - 1 - unit.chunk;
    list.add(StageId{static_cast<std::int32_t>(chunk) * num_devices + device}, op, unit.microbatch);
  }

  /// Units [begin, end) of one op.
  void units(Op op, std::int64_t begin, std::int64_t end) const {
    while (begin < end) {
      const UnitOrder::Unit unit = order.at(begin);
      const std::int64_t count = std::min(unit.run, end - begin);
      list.each(count, [&] { write(op, unit); });
      begin += count;
    }
  }

  /// Pairs [begin, end): backward unit j behind forward unit j + `warmup`.
  void pairs(std::int64_t warmup, std::int64_t begin, std::int64_t end) const {
    while (begin < end) {
      const UnitOrder::Unit forward = order.at(warmup + begin);
      const UnitOrder::Unit backward = order.at(begin);
      const std::int64_t count = std::min({forward.run, backward.run, end - begin});
      list.each(count, [&] {
        write(Op::kF, forward);
        write(Op::kB, backward);
      });
      begin += count;
    }
  }

  void step(std::int64_t warmup) const {
    const Advance next_group{.microbatch = static_cast<std::int32_t>(order.group)};
    const std::int64_t rounds = std::max<std::int64_t>(order.in_full_groups() - warmup, 0) / order.per_group();
    units(Op::kF, 0, warmup);
    list.repeat(rounds, next_group, [&] { pairs(warmup, 0, order.per_group()); });
    pairs(warmup, rounds * order.per_group(), order.size() - warmup);
    units(Op::kB, order.size() - warmup, order.size());
    for (std::int64_t chunk = 0; chunk < order.chunks; ++chunk) {
      list.add(StageId{static_cast<std::int32_t>(chunk) * num_devices + device}, Op::kU, 0);
    }
  }
};

/// Microbatches per group: `--opt group=N`, otherwise p, or all of them when there are fewer.
std::int64_t group_size(const ScheduleParams& params) {
  const std::int64_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  const std::int64_t group = whole_number("interleaved", params, "group", std::min(p, m));
  require(group <= m, "interleaved",
          "group (" + std::to_string(group) + ") must be at most num_microbatches (" + std::to_string(m) + ")");
  require(group >= std::min(p, m), "interleaved",
          "group (" + std::to_string(group) + ") must be at least num_devices (" + std::to_string(p) + ")");
  const std::int64_t last = m % group;
  require(last == 0 || last >= p, "interleaved",
          "num_microbatches (" + std::to_string(m) + ") leaves a last group of " + std::to_string(last) +
              "; expected a multiple of the group (" + std::to_string(group) + ") or a rest of at least num_devices (" +
              std::to_string(p) + "); option group=N changes the group");
  return group;
}

}  // namespace

/// 1F1B over v chunks per device, stage = chunk * p + device: groups of microbatches go through all chunks of a device
/// before the next group starts. The bubble shrinks by v, the traffic grows by v.
/// Device d keeps at most (min(2(p - 1 - d) + (v - 1) group, m v) + 1) / v activations.
/// Needs m to be a multiple of the group (default p), or to leave a rest of at least p; fewer than p form one group.
/// (Narayanan et al., arXiv 2104.04473; rule of Megatron-LM, megatron/core/pipeline_parallel/schedules.py)
///
///   p = 2, v = 2, m = 4
///   d0: 0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3 0U0 2U0
///   d1: 1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3 1U0 3U0
Schedule interleaved(const ScheduleParams& params) {
  const std::int32_t chunks = params.chunks > 0 ? params.chunks : 2;
  const std::int64_t updates = updates_or(params, 1);
  const std::int64_t group = group_size(params);
  const UnitOrder order{params.num_microbatches, group, chunks};
  Schedule schedule = looped_schedule("interleaved", params, chunks, updates);
  schedule.parameters["group"] = group;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const std::int64_t warmup =
        std::min(2 * std::int64_t{params.num_devices - 1 - d} + (chunks - 1) * group, order.size());
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      UnitWriter{order, list, d, params.num_devices}.step(warmup);
    }));
  }
  return schedule;
}

}  // namespace plumb
