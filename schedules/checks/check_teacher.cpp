#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "schedules/checks/list_contents.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/teacher.hpp"
#include "schedules/document/walk.hpp"

namespace plumb {
namespace {

/// Every stage has a teacher, which takes every microbatch forward once, update after update. Edges bring what it makes
/// from stage to stage, and from the last one to the loss. What it reads of an update is older than the one before, so
/// that it is the same on all stages.
class TeacherChecker {
 public:
  TeacherChecker(const Schedule& schedule, Findings& findings)
      : schedule_(schedule),
        findings_(findings),
        last_(schedule.num_stages - 1),
        microbatches_(static_cast<std::size_t>(schedule.num_microbatches)),
        stages_(static_cast<std::size_t>(schedule.num_stages)) {}

  void check() {
    if (!has_teacher(schedule_) || !has_form()) return;
    for (const ExtraEdge& edge : schedule_.extra_edges) add(edge);
    for (Stage& stage : stages_) stage.taught.resize(microbatches_);
    validates_ = std::ranges::any_of(schedule_.devices, [](const DeviceList& list) {
      return std::ranges::any_of(list.actions, [](const Action& action) { return action.op == Op::kV; });
    });
    for (device_ = 0; device_ < schedule_.devices.size(); ++device_) {
      position_ = 0;
      walk(schedule_.devices[device_], [this](const Action& action) {
        visit(action);
        ++position_;
      });
    }
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) check_complete(stage);
  }

 private:
  using Key = std::tuple<StageId, Op, MicrobatchId>;
  struct Stage {
    std::int64_t updates = 0;
    std::int64_t validations = 0;
    std::int64_t teaching = 0;  ///< the update whose microbatches came last
    std::vector<bool> taught;   ///< by microbatch
  };

  static Key key_of(const Action& action) { return {action.stage, action.op, action.microbatch}; }

  /// To every microbatch of what waits.
  void add(const ExtraEdge& edge) {
    Action after = edge.after;
    for (std::int32_t more = 0; more <= edge.after.merged; ++more) {
      edges_.emplace(key_of(edge.before), key_of(after));
      after.microbatch = MicrobatchId{static_cast<std::int32_t>(after.microbatch) + 1};
    }
  }

  bool has_form() {
    const auto fail = [&](const char* what) { findings_.add(0, 0, "", std::string("extras have a teacher: ") + what); };
    const bool whole = !schedule_.slices && schedule_.microbatch_sizes.empty();
    if (!whole) fail("it runs whole microbatches; expected no slices, and one size");
    const auto one_device = [](const std::vector<DeviceId>& holders) { return holders.size() == 1; };
    const bool once = schedule_.placement.size() == 1 && std::ranges::all_of(schedule_.placement.front(), one_device);
    const bool chain = once && is_chain(schedule_) && !schedule_.vocabulary && !schedule_.policy;
    if (!chain) fail("it has the stages of its student; expected a chain of them, each on one device, and lists");
    bool flushes = !schedule_.forward_only;
    for (std::int32_t stage = 0; stage <= last_; ++stage) flushes = flushes && schedule_.is_synchronous(StageId{stage});
    if (!flushes) fail("it follows the updates of its student; expected the mode training and the weight policy flush");
    const auto repeats_loss = [&](const Recompute& rule) { return rule.last_stage == last_; };
    const bool again = std::ranges::any_of(schedule_.recompute, repeats_loss);
    if (again) fail("its output is read once; expected no recompute of the last stage");
    return whole && chain && flushes && !again;
  }

  void fail(const Action& action, std::string reason) {
    findings_.add(device_, position_, to_string(action), std::move(reason));
  }

  void visit(const Action& action) {
    Stage& stage = stages_[index(action.stage)];
    if (action.op == Op::kU) ++stage.updates;
    if (action.op == Op::kV) ++stage.validations;
    if (action.op == Op::kR && action.stage == StageId{last_}) {
      fail(action, "would need what the teacher said once more; expected no recompute of the last stage");
    }
    if (action.op != Op::kX) return;
    const auto work = schedule_.extras.find("X" + std::to_string(static_cast<std::int32_t>(action.microbatch)));
    if (work == schedule_.extras.end() || work->second.kind != ExtraWork::Kind::kTeacher) return;
    const std::int64_t first = work->second.first_microbatch;
    const std::int64_t end = first + static_cast<std::int64_t>(work->second.units);
    const std::int64_t per_update = schedule_.per_update(action.stage);
    if (end > schedule_.num_microbatches || first / per_update != (end - 1) / per_update) {
      return fail(action, "is a teacher's forward of microbatches " + std::to_string(first) + " to " +
                              std::to_string(end - 1) + "; expected microbatches of one update");
    }
    check_update(action, stage, first / per_update);
    for (std::int64_t k = first; k < end; ++k) {
      if (stage.taught[static_cast<std::size_t>(k)]) {
        fail(action, "takes microbatch " + std::to_string(k) + " a second time; expected once");
      }
      stage.taught[static_cast<std::size_t>(k)] = true;
      if (action.stage == StageId{last_}) check_edge(action, action_of(last_, Op::kF, k));
    }
    Action before = action;
    before.stage = StageId{static_cast<std::int32_t>(action.stage) - 1};
    if (action.stage != StageId{0}) check_edge(before, action);
  }

  void check_update(const Action& action, Stage& stage, std::int64_t update) {
    if (update < stage.teaching) {
      fail(action, "runs after the teacher's forwards of a later update; expected them in order");
    }
    stage.teaching = std::max(stage.teaching, update);
    if (stage.updates + 1 < update) {
      fail(action, "runs before " + text_of(action.stage, Op::kU, update - 2, {}) +
                       "; expected after it, a teacher is one update late");
    }
    if (validates_ && stage.validations < stage.updates) {
      fail(action, "runs before " + text_of(action.stage, Op::kV, stage.validations, {}) +
                       "; expected after it, which may take back what the teacher follows");
    }
  }

  void check_edge(const Action& before, const Action& after) {
    if (edges_.contains({key_of(before), key_of(after)})) return;
    fail(before, "makes what " + to_string(after) + " takes; expected an extra edge between them");
  }

  void check_complete(std::size_t stage) {
    const auto missing = std::ranges::find(stages_[stage].taught, false);
    if (missing == stages_[stage].taught.end()) return;
    findings_.add(0, 0, "",
                  "microbatch " + std::to_string(missing - stages_[stage].taught.begin()) +
                      " has no forward of the teacher of stage " + std::to_string(stage) + "; expected one");
  }

  const Schedule& schedule_;
  Findings& findings_;
  std::int32_t last_;
  std::size_t microbatches_;
  std::vector<Stage> stages_;
  std::set<std::pair<Key, Key>> edges_;
  bool validates_ = false;
  std::size_t device_ = 0;
  std::int64_t position_ = 0;
};

}  // namespace

void check_teacher(const Schedule& schedule, Findings& findings) { TeacherChecker(schedule, findings).check(); }

}  // namespace plumb
