#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace plumb {

/// What a file is read as, and how long such a file may be. The limits are far above what the formats need; they keep a
/// wrong or hostile file from taking the machine's memory. SECURITY.md lists them.
struct FileKind {
  std::string_view name;
  std::uint64_t most_bytes = 0;
};

inline constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;

inline constexpr FileKind kScheduleFile{"schedule", 256 * kMebibyte};
inline constexpr FileKind kNetworkFile{"network or trace", 512 * kMebibyte};
inline constexpr FileKind kClusterFile{"cluster", 64 * kMebibyte};
inline constexpr FileKind kProfileFile{"profile", 64 * kMebibyte};
inline constexpr FileKind kKernelRatesFile{"table of kernel rates", 64 * kMebibyte};
inline constexpr FileKind kTimelineFile{"timeline", kGibibyte};
inline constexpr FileKind kTrainingDataFile{"training data", 4 * kGibibyte};
inline constexpr FileKind kCheckpointStateFile{"state of a checkpoint", 256 * kMebibyte};
inline constexpr FileKind kTensorsFile{"tensors", 1024 * kGibibyte};
inline constexpr FileKind kLaunchFile{"launch script or configuration", 64 * kMebibyte};
inline constexpr FileKind kDocumentFile{"document", 256 * kMebibyte};  ///< whatever else is read

/// What does not know its length before it ends (a pipe) may have this much at most, whatever it is read as.
inline constexpr std::uint64_t kMostPipeBytes = 256 * kMebibyte;

inline constexpr std::array kFileKinds{kScheduleFile,    kNetworkFile,  kClusterFile,      kProfileFile,
                                       kKernelRatesFile, kTimelineFile, kTrainingDataFile, kCheckpointStateFile,
                                       kTensorsFile,     kLaunchFile,   kDocumentFile};

}  // namespace plumb
