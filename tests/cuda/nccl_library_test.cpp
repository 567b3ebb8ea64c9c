#include "trainer/links/nccl_library.hpp"

#include <cstddef>

#include <doctest/doctest.h>

#if __has_include(<nccl.h>)
#include <nccl.h>
#define PLUMB_HAS_NCCL_HEADER 1
#endif

TEST_SUITE_BEGIN("cuda");

namespace plumb::nccl {

TEST_CASE("what is declared of NCCL is what its header says") {
#ifdef PLUMB_HAS_NCCL_HEADER
  static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
  static_assert(sizeof(Config) <= sizeof(ncclConfig_t));
  static_assert(offsetof(Config, magic) == offsetof(ncclConfig_t, magic));
  static_assert(offsetof(Config, version) == offsetof(ncclConfig_t, version));
  static_assert(offsetof(Config, blocking) == offsetof(ncclConfig_t, blocking));
  static_assert(offsetof(Config, cluster_size) == offsetof(ncclConfig_t, cgaClusterSize));
  static_assert(offsetof(Config, min_blocks) == offsetof(ncclConfig_t, minCTAs));
  static_assert(offsetof(Config, max_blocks) == offsetof(ncclConfig_t, maxCTAs));
  static_assert(offsetof(Config, network) == offsetof(ncclConfig_t, netName));
  static_assert(offsetof(Config, network) + sizeof(Config::network) == sizeof(Config));
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  CHECK(Config().magic == theirs.magic);
  CHECK(Config().version <= theirs.version);
  CHECK(Config().version == NCCL_VERSION(2, 17, 0));
  CHECK(Config::kUnset == NCCL_CONFIG_UNDEF_INT);
  CHECK(static_cast<int>(Result::kSuccess) == ncclSuccess);
  CHECK(static_cast<int>(Result::kCudaError) == ncclUnhandledCudaError);
  CHECK(static_cast<int>(Result::kSystemError) == ncclSystemError);
  CHECK(static_cast<int>(Result::kInternalError) == ncclInternalError);
  CHECK(static_cast<int>(Result::kInvalidArgument) == ncclInvalidArgument);
  CHECK(static_cast<int>(Result::kInvalidUsage) == ncclInvalidUsage);
  CHECK(static_cast<int>(Result::kRemoteError) == ncclRemoteError);
  CHECK(static_cast<int>(Result::kInProgress) == ncclInProgress);
  CHECK(kBytes == ncclInt8);
#else
  MESSAGE("skipped: there is no nccl.h here");
#endif
}

#ifdef PLUMB_HAS_NCCL_HEADER
TEST_CASE("the library of the toolkit is taken, and makes names without a GPU") {
  if (!why_no_library().empty()) {
    MESSAGE("skipped: " << why_no_library());
    return;
  }
  const Library library = load_library();
  int version = 0;
  CHECK(library.GetVersion(&version) == Result::kSuccess);
  CHECK(version >= 21700);
  UniqueId name;
  UniqueId other;
  CHECK(library.GetUniqueId(&name) == Result::kSuccess);
  CHECK(library.GetUniqueId(&other) == Result::kSuccess);
  CHECK(name.internal != other.internal);
}
#undef PLUMB_HAS_NCCL_HEADER
#endif

}  // namespace plumb::nccl

TEST_SUITE_END();
