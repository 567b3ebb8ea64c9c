#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <string>

/// What the trainer calls of NCCL, declared here by its public interface (2.17 and later), so that nothing of NCCL is
/// needed to build the program, or to start it.
namespace plumb::nccl {

enum class Result : int {
  kSuccess = 0,
  kCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,  ///< failure of the other end: it has failed, or is gone
  kInProgress = 7,
};

/// Made by one end of a communicator, and sent to the other.
struct UniqueId {
  std::array<char, 128> internal{};
};

/// How a communicator is made. The library takes as much of it as `size` says; what is not set is its own choice.
struct Config {
  static constexpr int kUnset = INT_MIN;

  std::size_t size = sizeof(Config);
  unsigned int magic = 0xcafebeefU;
  unsigned int version = 21700;
  int blocking = kUnset;
  int cluster_size = kUnset;
  int min_blocks = kUnset;  ///< least blocks of threads, and so multiprocessors, that a message takes
  int max_blocks = kUnset;  ///< most blocks of threads that a message takes
  const char* network = nullptr;
};

using Communicator = struct OpaqueCommunicator*;
/// The type of the numbers in a message.
inline constexpr int kBytes = 0;

/// The functions, by their names without "nccl". Streams are cudaStream_t.
struct Library {
  Result (*GetVersion)(int* version) = nullptr;
  const char* (*GetErrorString)(Result result) = nullptr;
  const char* (*GetLastError)(Communicator communicator) = nullptr;
  Result (*GetUniqueId)(UniqueId* id) = nullptr;
  Result (*CommInitRankConfig)(Communicator* made, int size, UniqueId id, int rank, Config* config) = nullptr;
  Result (*CommDestroy)(Communicator communicator) = nullptr;
  Result (*CommAbort)(Communicator communicator) = nullptr;
  Result (*CommGetAsyncError)(Communicator communicator, Result* error) = nullptr;
  Result (*GroupStart)() = nullptr;
  Result (*GroupEnd)() = nullptr;
  Result (*Send)(const void* from, std::size_t count, int type, int peer, Communicator by, void* stream) = nullptr;
  Result (*Recv)(void* to, std::size_t count, int type, int peer, Communicator by, void* stream) = nullptr;
  std::string version = {};  ///< "2.28.9"
};

/// The file name for the dynamic loader.
inline constexpr const char* kLibraryFile = "libnccl.so.2";

/// Loads the library, which stays loaded. Throws `Error` when it is missing, is too old, or has no such function.
Library load_library(const std::string& file = kLibraryFile);

/// Returns why the library cannot be loaded: "libnccl.so.2: cannot open shared object file ..."; empty: it is there.
std::string why_no_library(const std::string& file = kLibraryFile);

}  // namespace plumb::nccl
