#include <string>
#include <vector>

#include "schedules/checks/list_contents.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/segments.hpp"

namespace plumb {
namespace {

class CompletenessChecker {
 public:
  CompletenessChecker(const Schedule& schedule, const ListContents& contents, Findings& findings)
      : schedule_(schedule), contents_(contents), findings_(findings), segments_(segment_places(schedule)) {
    for (const DeviceList& list : schedule.devices) ends_.push_back(expanded_size(list));
  }

  void check() {
    for (std::int64_t microbatch = 0; microbatch < schedule_.num_microbatches; ++microbatch) {
      if (contents_.replica_of[static_cast<std::size_t>(microbatch)] < 0) {
        findings_.add(0, 0, "",
                      "microbatch " + std::to_string(microbatch) + " is in no list; expected it on every stage");
      }
    }
    for (std::int32_t stage = 0; stage < schedule_.num_stages; ++stage) {
      for (std::int64_t microbatch = 0; microbatch < schedule_.num_microbatches; ++microbatch) {
        if (contents_.replica_of[static_cast<std::size_t>(microbatch)] >= 0) check(StageId{stage}, microbatch);
      }
    }
    check_exchanges();
    if (const std::string fault = segment_fault(schedule_); !fault.empty()) findings_.add(0, 0, "", fault);
  }

 private:
  /// All holders of a stage exchange its weights, each as often as the first.
  void check_exchanges() {
    std::vector<std::int64_t> expected(static_cast<std::size_t>(schedule_.num_stages), -1);
    for (std::size_t device = 0; device < contents_.shares.size(); ++device) {
      for (const Share& share : contents_.shares[device]) {
        std::int64_t& most = expected[index(share.stage)];
        if (most < 0) most = share.exchanges;
        if (share.exchanges == most) continue;
        findings_.add(device, ends_[device], text_of(share.stage, Op::kSyncWeights, -1, share.replica),
                      "stands " + std::to_string(share.exchanges) + " times in the list; expected " +
                          std::to_string(most) + ", as for the stage's first holder");
      }
    }
  }

  /// Every slice of the microbatch needs F and, in training, B or both halves.
  void check(StageId stage, std::int64_t microbatch) {
    const std::size_t slices = contents_.seen.slices(static_cast<std::size_t>(microbatch));
    const bool inside = !segments_.empty() && segments_[index(stage)].inside();
    bool replayed = inside;  // all slices, or none
    for (std::size_t slice = 0; slice < slices && slices > 1; ++slice) {
      replayed |= (contents_.seen.at(stage, static_cast<std::size_t>(microbatch), slice) & op_bit(Op::kR)) != 0;
    }
    for (std::size_t slice = 0; slice < slices; ++slice) {
      const OpSet ops = contents_.seen.at(stage, static_cast<std::size_t>(microbatch), slice);
      const bool forward = (ops & op_bit(Op::kF)) != 0;
      const bool whole = (ops & op_bit(Op::kB)) != 0;
      const bool input = (ops & op_bit(Op::kI)) != 0;
      const bool weight = (ops & op_bit(Op::kW)) != 0;
      const std::int16_t of = slices == 1 ? Action::kAllSlices : static_cast<std::int16_t>(slice);
      if (!forward) missing(stage, Op::kF, microbatch, of);
      if (replayed && (ops & op_bit(Op::kR)) == 0) missing(stage, Op::kR, microbatch, of);
      if (schedule_.forward_only || whole) continue;
      if (!input && !weight) missing(stage, Op::kB, microbatch, of);
      if (input && !weight) missing(stage, Op::kW, microbatch, of);
      if (!input && weight) missing(stage, Op::kI, microbatch, of);
    }
  }

  void missing(StageId stage, Op op, std::int64_t microbatch, std::int16_t slice) {
    Action action;
    action.stage = stage;
    action.op = op;
    action.microbatch = MicrobatchId{static_cast<std::int32_t>(microbatch)};
    action.replica = ReplicaId{contents_.replica_of[static_cast<std::size_t>(microbatch)]};
    action.slice = slice;
    const std::size_t device = index(device_of(schedule_, action.replica, stage, microbatch));
    findings_.add(device, ends_[device], to_string(action), "is missing");
  }

  const Schedule& schedule_;
  const ListContents& contents_;
  Findings& findings_;
  std::vector<SegmentPlace> segments_;
  std::vector<std::int64_t> ends_;  ///< by device: position after its last action
};

}  // namespace

void check_complete(const Schedule& schedule, const ListContents& contents, Findings& findings) {
  CompletenessChecker(schedule, contents, findings).check();
}

}  // namespace plumb
