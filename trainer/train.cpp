#include "trainer/train.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "trainer/checkpoint/checkpoint.hpp"
#include "trainer/checkpoint/checkpoint_cut.hpp"
#include "trainer/plan/run_identity.hpp"
#include "trainer/processes/process_group.hpp"
#include "trainer/run/evaluate.hpp"
#include "trainer/run/training_run.hpp"

namespace plumb {
namespace {

/// The folder of checkpoints, where there is one: open in the first process only, which alone writes.
struct Checkpoints {
  std::optional<CheckpointFolder> folder;
  std::vector<std::filesystem::path> damaged;

  CheckpointFolder* writable() { return folder ? &*folder : nullptr; }
};

/// Opens the folder of checkpoints and puts a new run where the newest of them is, when that is asked for.
void begin(TrainingRun& run, const TrainOptions& options, Checkpoints& checkpoints) {
  const CheckpointOptions& checkpoint = options.observation.checkpoint;
  if (checkpoint.directory.empty()) return;
  const ProcessGroup* processes = options.execution.processes;
  if (processes == nullptr || processes->is_first()) checkpoints.folder.emplace(checkpoint.directory);
  if (checkpoint.resume) {
    checkpoints.damaged = resume(run, checkpoint);
    if (options.observation.on_resume) options.observation.on_resume(run.losses().means());
  } else if (newest_checkpoint(checkpoint.directory)) {
    throw Error(checkpoint.directory.string() +
                ": holds checkpoints of a run; expected to resume it, or another directory");
  }
}

/// Returns what is about to be run, and from where.
std::string standing(const TrainingRun& run) {
  std::string text;
  for (const auto& [name, value] : run_identity(run.plan(), run.passes())) text += name + "=" + value + ", ";
  text += "pass " + std::to_string(run.pass()) + ", positions";
  for (const InstrIndex position : run.positions()) text += " " + std::to_string(position);
  return text;
}

/// Returns whether something that is to be done every `every`-th update is due.
bool is_due(std::int64_t every, std::int64_t done, bool at_end) { return every > 0 && (done % every == 0 || at_end); }

void evaluate_now(TrainingRun& run, std::int64_t update, std::vector<Evaluation>& evaluations) {
  const TrainOptions& options = run.plan().options;
  const NamedValues weights = run.newest_weights();
  if (weights.empty()) return;  // the first process does it
  evaluations.push_back(evaluate(options, weights));
  evaluations.back().update = update;
  if (options.observation.evaluation.on_evaluation) options.observation.evaluation.on_evaluation(evaluations.back());
}

/// Runs the document to its end, with a checkpoint or an evaluation after the updates at which they are due.
void run_document(TrainingRun& run, const TrainOptions& options, Checkpoints& checkpoints,
                  std::vector<Evaluation>& evaluations) {
  const CheckpointOptions& checkpoint = options.observation.checkpoint;
  const Program& program = run.plan().program;
  const std::int64_t updates = run.plan().document_updates;
  const std::int64_t done_before = run.pass() * updates;
  const std::vector<InstrIndex> ends(program.lane_begin.begin() + 1, program.lane_begin.end());
  for (std::int64_t update = 1; update <= updates; ++update) {
    const bool last = update == updates;
    const std::int64_t done = done_before + update;
    const bool at_end = last && run.pass() + 1 == run.passes();
    const bool save = !checkpoint.directory.empty() && is_due(checkpoint.every, done, at_end);
    const bool try_out = is_due(options.observation.evaluation.every, done, at_end);
    if (!save && !try_out && !last) continue;
    const std::vector<InstrIndex> cut = last ? ends : checkpoint_cut(program, update);
    if (run.has_passed(cut)) continue;
    run.run_to(cut);
    if (!save && !try_out) continue;
    if (save) save_checkpoint(run, checkpoints.writable(), done);
    if (try_out) evaluate_now(run, done, evaluations);
  }
}

}  // namespace

TrainResult train(const TrainOptions& options) {
  if (options.observation.checkpoint.every < 1) throw Error("train: checkpoints every 0 updates; expected at least 1");
  Checkpoints checkpoints;
  std::optional<TrainingRun> run;
  const auto prepare = [&] {
    run.emplace(options);
    begin(*run, options, checkpoints);
    return standing(*run);
  };
  if (options.execution.processes != nullptr) {
    options.execution.processes->agree(prepare);
  } else {
    prepare();
  }
  if (checkpoints.folder) checkpoints.folder->set_aside(checkpoints.damaged);
  run->connect();
  std::vector<Evaluation> evaluations;
  std::vector<Ticks> document_times;
  for (;;) {
    run_document(*run, options, checkpoints, evaluations);
    if (const auto time = run->document_time()) document_times.push_back(*time);
    if (run->pass() + 1 == run->passes()) break;
    run->next_pass();
  }
  TrainResult result = run->result();
  result.evaluations = std::move(evaluations);
  result.document_times = std::move(document_times);
  return result;
}

}  // namespace plumb
