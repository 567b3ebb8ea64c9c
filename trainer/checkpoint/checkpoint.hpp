#pragma once

#include <filesystem>
#include <optional>

#include "trainer/run/training_run.hpp"

namespace plumb {

/// Saves `run` as `directory`/update-<number>, two files: state.json and tensors.safetensors. They are written under a
/// temporary name, flushed to the disk and then renamed, so a kill at any moment leaves the newest complete checkpoint
/// intact. With several processes all of them call this, and the first one writes. Afterwards only the newest two
/// remain. Throws `Error` when it cannot be written; nothing partial is left.
void save_checkpoint(TrainingRun& run, const std::filesystem::path& directory, std::int64_t updates_done);

/// The newest checkpoint in `directory`; none when there is none (also when the directory does not exist).
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& directory);

/// Puts a new run where `checkpoint` was saved. Throws `Error` when it belongs to another run or is damaged.
void load_checkpoint(TrainingRun& run, const std::filesystem::path& checkpoint);

}  // namespace plumb
