#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "models/ground/json_reader.hpp"
#include "trainer/checkpoint/safetensors.hpp"
#include "trainer/run/training_run.hpp"

namespace plumb {

/// Version of state.json. Version 1 had no checksums.
inline constexpr std::int64_t kCheckpointVersion = 2;

/// Everything that a run needs to continue from where it is: a small JSON document and the bytes of all blocks.
/// Document and tensors are described in trainer/checkpoint/CHECKPOINT_FORMAT.md.
struct Snapshot {
  std::string state;
  std::vector<TensorView> tensors;          ///< views into the run, and into `owned`
  std::list<std::vector<std::byte>> owned;  ///< bytes that the run has in another form
};

/// Takes the snapshot between two parts of `run`. It is valid until the run continues. With several processes it has
/// what is in this one.
Snapshot take_snapshot(TrainingRun& run);

/// Puts a new run where the snapshot was taken. Throws `Error` when the snapshot belongs to another run (naming what
/// differs) or is damaged.
void restore_snapshot(TrainingRun& run, const JsonValue& state, const SafetensorsFile& tensors);

}  // namespace plumb
