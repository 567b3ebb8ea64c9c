#include "trainer/checkpoint/checkpoint.hpp"

#include <set>
#include <span>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "trainer/checkpoint/checksums.hpp"
#include "trainer/checkpoint/safetensors.hpp"
#include "trainer/checkpoint/snapshot.hpp"
#include "trainer/ground/durable_file.hpp"
#include "trainer/processes/process_group.hpp"
#include "trainer/transport/packet.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

ProcessGroup::Bytes to_bytes(const Snapshot& snapshot) {
  PacketWriter writer;
  writer.put_text(snapshot.state).put(snapshot.tensors.size());
  for (const TensorView& tensor : snapshot.tensors) {
    writer.put_text(tensor.name).put_text(tensor.dtype).put_all(std::span(tensor.shape)).put_all(tensor.bytes);
  }
  return writer.take();
}

/// Adds what `part` lists to the lists of `whole`; what several devices have (a sum under way) once.
void merge_lists(const Json& part, Json& whole) {
  for (const auto& [name, list] : part.items()) {
    if (!list.is_array() || name == "positions") continue;
    std::set<std::string> known;
    for (const Json& entry : whole[name]) known.insert(entry.dump());
    for (const Json& entry : list) {
      if (known.insert(entry.dump()).second) whole[name].push_back(entry);
    }
  }
}

/// Puts the snapshot of a run together from those of all processes, which must all call this. Returns everything in the
/// first process, as if all devices were there, and an empty snapshot in the others.
Snapshot gather_snapshot(ProcessGroup& group, const Snapshot& own) {
  Snapshot whole;
  std::vector<ProcessGroup::Bytes> parts = group.gather(to_bytes(own));
  if (!group.is_first()) return whole;
  Json state;
  std::set<std::string> names;
  for (ProcessGroup::Bytes& part : parts) {
    PacketReader reader(whole.owned.emplace_back(std::move(part)));
    const Json of_part = Json::parse(reader.get_text());
    if (state.is_null()) {
      state = of_part;
    } else {
      merge_lists(of_part, state);
    }
    const auto tensors = reader.get<std::size_t>();
    for (std::size_t i = 0; i < tensors; ++i) {
      TensorView tensor;
      tensor.name = reader.get_text();
      tensor.dtype = reader.get_text();
      tensor.shape = reader.get_all<std::int64_t>();
      tensor.bytes = reader.get_view();
      if (names.insert(tensor.name).second) whole.tensors.push_back(std::move(tensor));
    }
  }
  whole.state = state.dump(1) + "\n";
  return whole;
}

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
