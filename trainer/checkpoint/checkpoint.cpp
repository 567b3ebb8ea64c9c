#include "trainer/checkpoint/checkpoint.hpp"

#include <span>
#include <string>

#include "models/ground/error.hpp"
#include "trainer/checkpoint/checksums.hpp"
#include "trainer/checkpoint/safetensors.hpp"
#include "trainer/checkpoint/snapshot.hpp"
#include "trainer/checkpoint/snapshot_gather.hpp"
#include "trainer/ground/durable_file.hpp"

namespace plumb {
namespace {

namespace fs = std::filesystem;

void write_files(const Snapshot& snapshot, const fs::path& directory) {
  write_safetensors(directory / "tensors.safetensors", snapshot.tensors);
  const std::string text = with_checksums(snapshot.state, snapshot.tensors);
  DurableFile state(directory / "state.json");
  state.write(std::as_bytes(std::span(text)));
  state.close();
}

/// Returns whether the checkpoint had checksums.
bool load(TrainingRun& run, const fs::path& checkpoint) {
  const CheckpointFiles files(checkpoint);
  restore_snapshot(run, files.state(), files.tensors());
  return files.has_checksums();
}

}  // namespace

void save_checkpoint(TrainingRun& run, CheckpointFolder* folder, std::int64_t updates_done) {
  const Snapshot snapshot =
      run.processes() == nullptr ? take_snapshot(run) : gather_snapshot(*run.processes(), take_snapshot(run));
  if (folder == nullptr) return;
  folder->add(updates_done, [&](const fs::path& directory) { write_files(snapshot, directory); });
}

void load_checkpoint(TrainingRun& run, const fs::path& checkpoint) { load(run, checkpoint); }

std::vector<fs::path> resume(TrainingRun& run, const CheckpointOptions& options) {
  std::vector<fs::path> damaged;
  std::vector<std::string> reasons;
  const std::vector<fs::path> all = checkpoints_in(options.directory);
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const fs::path& checkpoint = *at;
    try {
      const bool has_checksums = load(run, checkpoint);
      for (std::size_t i = 0; i < damaged.size(); ++i) {
        options.on_note(reasons[i] + "; this damaged checkpoint is kept as " + name_aside(damaged[i]).string() +
                        ", and the run goes on from " + checkpoint.filename().string());
      }
      if (!has_checksums && options.on_note) {
        options.on_note(checkpoint.string() +
                        ": has no checksums, as an older version saved it; damage to it would not be noticed");
      }
      return damaged;
    } catch (const DamagedCheckpoint& damage) {
      if (!options.on_note) throw;
      damaged.push_back(checkpoint);
      reasons.emplace_back(damage.what());
    }
  }
  if (damaged.empty()) return damaged;
  throw Error(reasons.front() + "; the checkpoint is damaged, and no older one in " + options.directory.string() +
              " is whole, expected one");
}

}  // namespace plumb
