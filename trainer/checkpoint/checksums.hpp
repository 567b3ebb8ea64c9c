#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "trainer/checkpoint/safetensors.hpp"

namespace plumb {

/// A checkpoint that is incomplete, or is not what was saved.
class DamagedCheckpoint : public Error {
 public:
  using Error::Error;
};

/// `state` (a JSON object, a line per key) with the checksums of `tensors` as they are written to a file, and its own
/// as the last key. CHECKPOINT_FORMAT.md describes them.
std::string with_checksums(const std::string& state, std::span<const TensorView> tensors);

/// The two files of a checkpoint in memory, equal to what was saved.
class CheckpointFiles {
 public:
  /// Reads both and compares all checksums. Throws `DamagedCheckpoint` with the file and what is wrong with it.
  explicit CheckpointFiles(const std::filesystem::path& checkpoint);

  JsonValue state() const { return state_->root(); }
  const SafetensorsFile& tensors() const { return *tensors_; }
  /// Returns false when the checkpoint is of format version 1, which had none: damage may have gone unnoticed.
  bool has_checksums() const { return has_checksums_; }

 private:
  void read_state(const std::filesystem::path& path);
  void compare_tensors(const std::string& name) const;

  std::optional<JsonDocument> state_;
  std::optional<SafetensorsFile> tensors_;
  bool has_checksums_ = false;
};

}  // namespace plumb
