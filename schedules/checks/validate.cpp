#include "schedules/checks/validate.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "schedules/checks/check_runs.hpp"
#include "schedules/checks/list_contents.hpp"
#include "schedules/checks/validation_size.hpp"
#include "schedules/document/schedule_io.hpp"

namespace plumb {
namespace {

/// Most microbatches that one action of the document names.
std::int64_t most_named(const Schedule& schedule) {
  std::int64_t most = 1;
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : list.actions) most = std::max<std::int64_t>(most, action.merged + 1);
  }
  return most;
}

/// Where the last microbatch is named, by mistake as it seems: in a list without repeats. Adds the finding there, or
/// before all actions.
void fail_at_last_microbatch(const Schedule& schedule, const std::string& reason, Findings& findings) {
  for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
    const DeviceList& list = schedule.devices[device];
    if (!list.repeats.empty()) continue;
    const auto last = std::ranges::find_if(list.actions, [&](const Action& action) {
      return static_cast<std::int64_t>(action.microbatch) + action.merged + 1 == schedule.num_microbatches;
    });
    if (last == list.actions.end()) continue;
    return findings.add(
        device, last - list.actions.begin(), to_string(*last),
        "names the last of " + std::to_string(schedule.num_microbatches) + " microbatches, but " + reason);
  }
  findings.add(0, 0, "", reason);
}

/// What is wrong with the document as a whole, before its lists make sense.
void check_sizes(const Schedule& schedule, Findings& findings) {
  const auto fail = [&](std::string reason) { findings.add(0, 0, "", std::move(reason)); };
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    const std::int64_t per_update = schedule.per_update(StageId{stage});
    if (per_update >= 1 && schedule.num_microbatches % per_update == 0) continue;
    fail("microbatches_per_update (" + std::to_string(per_update) + ") of stage " + std::to_string(stage) +
         " must divide num_microbatches (" + std::to_string(schedule.num_microbatches) + ")");
    if (schedule.microbatches_per_update.size() == 1) break;
  }
  // Found before any table is made, because the sizes may be absurd.
  const std::int64_t cells = schedule.num_stages * schedule.num_microbatches;
  const std::int64_t size = action_count(schedule);
  if (size < cells / most_named(schedule)) {
    const std::string reason = "the lists hold " + std::to_string(size) + " actions; expected an action for each of " +
                               std::to_string(schedule.num_stages) + " stages and " +
                               std::to_string(schedule.num_microbatches) + " microbatches";
    fail_at_last_microbatch(schedule, reason, findings);
  }
}

/// The stage graph must not lead back to where it began.
void check_stage_graph(const Schedule& schedule, Findings& findings) {
  if (!schedule.stage_edges) return;
  std::vector<std::int32_t> incoming(static_cast<std::size_t>(schedule.num_stages), 0);
  for (const auto& [from, to] : *schedule.stage_edges) ++incoming[index(to)];
  std::vector<StageId> free;
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    if (incoming[static_cast<std::size_t>(stage)] == 0) free.push_back(StageId{stage});
  }
  std::vector<std::vector<StageId>> next(static_cast<std::size_t>(schedule.num_stages));
  for (const auto& [from, to] : *schedule.stage_edges) next[index(from)].push_back(to);
  for (std::size_t at = 0; at < free.size(); ++at) {
    for (const StageId to : next[index(free[at])]) {
      if (--incoming[index(to)] == 0) free.push_back(to);
    }
  }
  if (free.size() < static_cast<std::size_t>(schedule.num_stages)) {
    findings.add(0, 0, "", "stage_edges form a cycle; expected a graph without one");
  }
}

/// No stage is more than one thing, and some stage holds layers.
void check_vocabulary(const Schedule& schedule, Findings& findings) {
  if (!schedule.vocabulary) return;
  const VocabularyStages& stages = *schedule.vocabulary;
  std::vector<StageId> named = stages.input;
  named.insert(named.end(), stages.output.begin(), stages.output.end());
  if (stages.loss) named.push_back(*stages.loss);
  std::ranges::sort(named);
  const auto fail = [&](const std::string& what) { findings.add(0, 0, "", "vocabulary: " + what); };
  if (stages.input.empty() || stages.input.size() != stages.output.size()) {
    fail("input names " + std::to_string(stages.input.size()) + " stages and output " +
         std::to_string(stages.output.size()) + "; expected the same number, at least 1");
  }
  if (const auto twice = std::ranges::adjacent_find(named); twice != named.end()) {
    fail("names stage " + std::to_string(index(*twice)) + " twice");
  }
  if (stages.num_layer_stages(schedule.num_stages) < 1) fail("names all stages; expected some that hold layers");
}

}  // namespace

std::vector<Violation> check_document(const Schedule& schedule) {
  check_document_size(schedule);
  Findings findings;
  check_sizes(schedule, findings);
  check_stage_graph(schedule, findings);
  check_vocabulary(schedule, findings);
  check_start_together(schedule, findings);
  if (!findings.empty()) return findings.take();
  ListContents contents(schedule);
  for (std::int32_t device = 0; device < schedule.num_devices; ++device) {
    check_list(schedule, DeviceId{device}, contents, findings);
  }
  check_complete(schedule, contents, findings);
  if (findings.empty()) check_transfers(schedule, findings);
  if (findings.empty() && most_named(schedule) > 1) check_recompute(schedule, findings);
  check_extra_edges(schedule, findings);
  if (findings.empty()) check_common_starts(schedule, findings);
  if (findings.empty()) check_teacher(schedule, findings);
  return findings.take();
}

std::vector<Violation> validate(const Schedule& schedule) {
  check_validation_size(schedule);
  std::vector<Violation> found = check_document(schedule);
  return found.empty() ? check_runs(schedule) : found;
}

}  // namespace plumb
