#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/slice_lengths.hpp"
#include "schedules/catalogue/synchronous/recompute_option.hpp"

namespace plumb {
namespace {

/// Batches of microbatches that go through together, slice by slice.
struct JointWriter {
  StageId stage{};
  const std::vector<BatchSlice>& batches;

  void write(ListBuilder& list) const {
    std::int64_t first = 0;
    for (const BatchSlice& batch : batches) {
      for (std::int16_t slice = 0; slice < std::ssize(batch.lengths); ++slice) add(list, Op::kF, batch, first, slice);
      first += batch.samples;
    }
    for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) {
      first -= batch->samples;
      for (auto slice = static_cast<std::int16_t>(batch->lengths.size()); slice-- > 0;) {
        add(list, Op::kB, *batch, first, slice);
      }
    }
    list.add(stage, Op::kU, 0);
  }

 private:
  void add(ListBuilder& list, Op op, const BatchSlice& batch, std::int64_t first, std::int16_t slice) const {
    Action action;
    action.stage = stage;
    action.op = op;
    action.microbatch = MicrobatchId{static_cast<std::int32_t>(first)};
    action.merged = static_cast<std::uint8_t>(batch.samples - 1) & 0x7FU;
    action.slice = batch.lengths.size() == 1 ? Action::kAllSlices : slice;
    list.add_all({&action, 1});
  }
};

Schedule joint_terapipe(const ScheduleParams& params) {
  const std::vector<BatchSlice> batches = joint_slices("terapipe", params);
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("terapipe", params, 1, updates);
  schedule.parameters["batches"] = std::ssize(batches);
  std::vector<std::vector<std::int64_t>> lengths;
  for (std::int64_t update = 0; update < updates; ++update) {
    for (const BatchSlice& batch : batches) {
      lengths.insert(lengths.end(), static_cast<std::size_t>(batch.samples), batch.lengths);
    }
  }
  schedule.slices = Slices{Slices::Axis::kSequence, std::move(lengths)};
  recompute_choice("terapipe", params, schedule, {"never", "always", "except-last"});
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      JointWriter{StageId{d}, batches}.write(list);
    }));
  }
  return schedule;
}

}  // namespace

/// Slices of a sequence instead of microbatches go through the pipeline (causal models only): the forwards of all
/// slices of all microbatches, then their backwards in reverse. With slices that take t_1 .. t_k forward and backward,
/// a step takes m (t_1 + .. + t_k) + (p - 1) max t; `lengths=search` finds the lengths for which that is least.
/// `lengths=joint` also takes microbatches together where that is faster, so that a slice is of several samples (its
/// time: `overhead` and the work of all of them); -m is then the number of samples, at most 128. Every device keeps all
/// m activations; with `recompute=always` the inputs, keys and values. Any p, m and k.
/// (Li et al., TeraPipe, arXiv 2102.07988; order and dynamic programme as in the released code)
///
///   p = 2, m = 2, k = 2
///   d0: 0F0.0 0F0.1 0F1.0 0F1.1 0B1.1 0B1.0 0B0.1 0B0.0 0U0
///   d1: 1F0.0 1F0.1 1F1.0 1F1.1 1B1.1 1B1.0 1B0.1 1B0.0 1U0
Schedule terapipe(const ScheduleParams& params) {
  require_one_chunk("terapipe", params);
  const auto how = params.options.find("lengths");
  if (how != params.options.end() && how->second == "joint") return joint_terapipe(params);
  const std::vector<std::int64_t> lengths = slice_lengths("terapipe", params, 4);
  const auto slices = static_cast<std::int64_t>(lengths.size());
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("terapipe", params, 1, updates);
  schedule.parameters["slices"] = slices;
  schedule.slices = Slices{Slices::Axis::kSequence, {lengths}};
  recompute_choice("terapipe", params, schedule, {"never", "always", "except-last"});
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const StageId stage{d};
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      list.each(m, [&] { list.repeat(slices, {.slice = 1}, [&] { list.add_slice(stage, Op::kF, 0, 0); }); });
      list.repeat(m, {.microbatch = -1}, [&] {
        list.repeat(slices, {.slice = -1}, [&] { list.add_slice(stage, Op::kB, m - 1, slices - 1); });
      });
      list.add(stage, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
