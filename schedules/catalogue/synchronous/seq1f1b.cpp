#include <algorithm>
#include <numeric>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/slice_lengths.hpp"
#include "schedules/catalogue/synchronous/recompute_option.hpp"

namespace plumb {
namespace {

/// The order in which every device takes its units, a unit being one slice of one microbatch through one chunk: groups
/// of `group` units of a chunk, each through all chunks before the next group starts. Forwards take the slices of a
/// microbatch up, backwards take them down.
struct SliceOrder {
  std::int64_t devices = 0;
  std::int64_t chunks = 1;
  std::int64_t slices = 1;
  std::int64_t group = 0;

  /// Units after which the order comes again.
  Period period() const {
    const std::int64_t units = chunks == 1 ? slices : std::lcm(group, slices);
    return {units * chunks, {.microbatch = static_cast<std::int32_t>(units / slices)}};
  }

  void write(ListBuilder& list, Op op, std::int64_t device, std::int64_t number) const {
    const std::int64_t chunk = number % (group * chunks) / group;
    const std::int64_t unit = number / (group * chunks) * group + number % group;
    const std::int64_t slice = unit % slices;
    const std::int64_t stage = (op == Op::kF ? chunk : chunks - 1 - chunk) * devices + device;
    list.add_slice(StageId{static_cast<std::int32_t>(stage)}, op, unit / slices,
                   op == Op::kF ? slice : slices - 1 - slice);
  }
};

/// Writes one device's step over all its units.
struct SliceWriter {
  const SliceOrder& order;
  ListBuilder& list;
  std::int64_t device;
  std::int64_t units;
  std::int64_t warmup;
  bool split;

  /// Steps [begin, end): a forward `warmup` ahead where `forward`, a backward, and, `put_off` after, its weight half
  /// where `weight`.
  void steps(std::int64_t begin, std::int64_t end, bool forward, bool weight, std::int64_t put_off) const {
    list.periodic(begin, end, order.period(), [&](std::int64_t n) {
      if (forward) order.write(list, Op::kF, device, warmup + n);
      order.write(list, split ? Op::kI : Op::kB, device, n);
      if (weight) order.write(list, Op::kW, device, n - put_off);
    });
  }

  void step() const {
    const std::int64_t pairs = units - warmup;
    const std::int64_t put_off = split ? std::min(device, units) : units;  // weight halves outstanding once they begin
    const std::int64_t bare = std::min(put_off, pairs);
    list.periodic(0, warmup, order.period(), [&](std::int64_t n) { order.write(list, Op::kF, device, n); });
    steps(0, bare, true, false, 0);
    steps(bare, pairs, true, split, put_off);
    steps(pairs, std::max(pairs, put_off), false, false, 0);
    steps(std::max(pairs, put_off), units, false, split, put_off);
    if (split) {
      list.periodic(units - put_off, units, order.period(),
                    [&](std::int64_t n) { order.write(list, Op::kW, device, n); });
    }
    for (std::int64_t chunk = 0; chunk < order.chunks; ++chunk) {
      list.add(StageId{static_cast<std::int32_t>(chunk * order.devices + device)}, Op::kU, 0);
    }
  }
};

SliceOrder checked_order(const ScheduleParams& params, std::int64_t slices) {
  SliceOrder order{params.num_devices, std::max(params.chunks, 1), slices};
  const std::int64_t units = params.num_microbatches * slices;
  require(order.devices * order.chunks <= 4096, "seq1f1b",
          "stages (" + std::to_string(order.devices * order.chunks) + ") must be at most 4096");
  order.group = std::min((order.devices + slices - 1) / slices * slices, units);
  require(order.chunks == 1 || units % order.group == 0, "seq1f1b",
          "microbatches times slices (" + std::to_string(units) + ") must be a multiple of " +
              std::to_string(order.group) +
              " (num_devices rounded up to whole microbatches) with several chunks per device");
  return order;
}

bool splits_backward(const ScheduleParams& params) {
  const bool split = choice("seq1f1b", params, "backward", {"whole", "split"}) == "split";
  require(!split || params.chunks <= 1, "seq1f1b", "option backward=split needs one chunk per device");
  return split;
}

}  // namespace

/// 1F1B whose unit is a slice of a sequence (causal models only): the k slices of a microbatch go forward in order and
/// backward in reverse. The bubble of 1F1B shrinks by k, so do its activations: device d keeps at most
/// min(p - 1 - d + k, m k) slices, 1 / k of a microbatch each. With v chunks, groups of slices go through all chunks as
/// in `interleaved`, and device d keeps at most min(2(p - 1 - d) + (v - 1) group + k, m v k) slices of a chunk.
/// Any p, m and k with one chunk. The group is p where k divides p, as in the released code; otherwise the next
/// multiple of k, since a microbatch whose slices are in two groups would wait for itself. `backward=split` puts the
/// weight halves off as ZB-H1 does, at most d slices of them on device d (the released zero-bubble variant; one chunk).
/// (Sun et al., Seq1F1B, arXiv 2406.03488; released code)
///
///   p = 3, m = 2, k = 2
///   d0: 0F0.0 0F0.1 0F1.0 0F1.1 0B0.1 0B0.0 0B1.1 0B1.0 0U0
///   d1: 1F0.0 1F0.1 1F1.0 1B0.1 1F1.1 1B0.0 1B1.1 1B1.0 1U0
///   d2: 2F0.0 2F0.1 2B0.1 2F1.0 2B0.0 2F1.1 2B1.1 2B1.0 2U0
Schedule seq1f1b(const ScheduleParams& params) {
  const std::vector<std::int64_t> lengths = slice_lengths("seq1f1b", params, 2);
  const auto slices = static_cast<std::int64_t>(lengths.size());
  const SliceOrder order = checked_order(params, slices);
  const bool split = splits_backward(params);
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("seq1f1b", params, static_cast<std::int32_t>(order.chunks), updates);
  schedule.parameters["slices"] = slices;
  schedule.slices = Slices{Slices::Axis::kSequence, {lengths}};
  recompute_choice("seq1f1b", params, schedule, {"never", "always", "except-last"});
  const std::int64_t units = params.num_microbatches * slices * order.chunks;
  for (std::int64_t d = 0; d < order.devices; ++d) {
    const std::int64_t ahead = order.devices - 1 - d;
    const std::int64_t wanted = order.chunks == 1 ? ahead : 2 * ahead + (order.chunks - 1) * order.group;
    const std::int64_t warmup = std::min(wanted + slices - 1, units);
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      SliceWriter{.order = order, .list = list, .device = d, .units = units, .warmup = warmup, .split = split}.step();
    }));
  }
  return schedule;
}

}  // namespace plumb
