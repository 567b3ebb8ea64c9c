#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/recompute_option.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/catalogue/slice_lengths.hpp"

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

/// By its rules; `lengths=joint`: the slices of several microbatches together for which the step is shortest.
Schedule terapipe(const ScheduleParams& params) {
  require_one_chunk("terapipe", params);
  const auto how = params.options.find("lengths");
  const bool joint = how != params.options.end() && how->second == "joint";
  return joint ? joint_terapipe(params) : generate_by_rules(schedule_named("terapipe"), params);
}

}  // namespace plumb
