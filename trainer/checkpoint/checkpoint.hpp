#pragma once

#include <filesystem>
#include <vector>

#include "trainer/checkpoint/checkpoint_folder.hpp"
#include "trainer/plan/train_options.hpp"
#include "trainer/run/training_run.hpp"

namespace plumb {

/// Saves `run` in `folder` as update-<number>, two files: state.json and tensors.safetensors, with checksums. With
/// several processes all of them call this, and the first one, which alone has a folder, writes. Throws `Error` when it
/// cannot be written; nothing partial is left.
void save_checkpoint(TrainingRun& run, CheckpointFolder* folder, std::int64_t updates_done);

/// Puts a new run where `checkpoint` was saved. Throws `Error` when it belongs to another run, and `DamagedCheckpoint`
/// when it is not what was saved.
void load_checkpoint(TrainingRun& run, const std::filesystem::path& checkpoint);

/// Puts a new run where the newest checkpoint that is not damaged was saved; leaves it at its beginning when there is
/// none at all. Returns the damaged ones that were passed over, after telling of each (`CheckpointOptions::on_note`).
/// Throws `Error` when all are damaged, or when one is and nobody can be told.
std::vector<std::filesystem::path> resume(TrainingRun& run, const CheckpointOptions& options);

}  // namespace plumb
