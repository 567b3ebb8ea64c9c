#include "trainer/train.hpp"

#include <optional>
#include <string>

#include "models/error.hpp"
#include "trainer/checkpoint.hpp"
#include "trainer/checkpoint_cut.hpp"
#include "trainer/process_group.hpp"
#include "trainer/run_identity.hpp"
#include "trainer/training_run.hpp"

namespace plumb {
namespace {

/// Puts a new run where its newest checkpoint is, when that is asked for and there is one.
void begin(TrainingRun& run, const CheckpointOptions& checkpoint) {
  if (checkpoint.directory.empty()) return;
  const auto newest = newest_checkpoint(checkpoint.directory);
  if (!newest) return;
  if (!checkpoint.resume) {
    throw Error(checkpoint.directory.string() +
                ": holds checkpoints of a run; expected to resume it, or another directory");
  }
  load_checkpoint(run, *newest);
}

/// What is about to be run, and from where.
std::string standing(const TrainingRun& run) {
  std::string text;
  for (const auto& [name, value] : run_identity(run.plan(), run.passes())) text += name + "=" + value + ", ";
  text += "pass " + std::to_string(run.pass()) + ", positions";
  for (const InstrIndex position : run.positions()) text += " " + std::to_string(position);
  return text;
}

/// Runs the document to its end, with a checkpoint behind every `every`-th update.
void run_document(TrainingRun& run, const CheckpointOptions& checkpoint) {
  const Program& program = run.plan().program;
  const std::int64_t updates = run.plan().document_updates;
  const std::int64_t done_before = run.pass() * updates;
  const std::vector<InstrIndex> ends(program.lane_begin.begin() + 1, program.lane_begin.end());
  for (std::int64_t update = 1; update <= updates; ++update) {
    const bool last = update == updates;
    const bool save = !checkpoint.directory.empty() &&
                      ((done_before + update) % checkpoint.every == 0 || (last && run.pass() + 1 == run.passes()));
    if (!save && !last) continue;
    const std::vector<InstrIndex> cut = last ? ends : checkpoint_cut(program, update);
    if (run.is_behind(cut)) continue;
    run.run_to(cut);
    if (!save) continue;
    save_checkpoint(run, checkpoint.directory, done_before + update);
  }
}

}  // namespace

TrainResult train(const TrainOptions& options) {
  if (options.checkpoint.every < 1) throw Error("train: checkpoints every 0 updates; expected at least 1");
  std::optional<TrainingRun> run;
  const auto prepare = [&] {
    run.emplace(options);
    begin(*run, options.checkpoint);
    return standing(*run);
  };
  if (options.processes != nullptr) {
    options.processes->agree(prepare);
  } else {
    prepare();
  }
  for (;;) {
    run_document(*run, options.checkpoint);
    if (run->pass() + 1 == run->passes()) break;
    run->next_pass();
  }
  return run->result();
}

}  // namespace plumb
