#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "trainer/links/nccl_library.hpp"

namespace plumb {

/// Where the build has put the stand-in for NCCL: beside the tests.
inline std::string fake_nccl_file() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fake_nccl" / nccl::kLibraryFile).string();
}

/// The stand-in (tests/support/fake_nccl.cpp), and what it has been told to do.
class FakeNccl {
 public:
  /// `plan`: "send 3 fail"; empty: all goes well.
  explicit FakeNccl(const std::string& plan = "") : library_(nccl::load_library(fake_nccl_file())) {
    function<void(const char*)>("fake_nccl_plan")(plan.c_str());
  }
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;
  ~FakeNccl() { function<void(const char*)>("fake_nccl_plan")(""); }

  const nccl::Library& library() const { return library_; }
  /// Of "connect", "send" or "receive", by all threads.
  int calls(const std::string& of) const { return function<int(const char*)>("fake_nccl_calls")(of.c_str()); }

 private:
  template <class F>
  static F* function(const char* name) {
    return reinterpret_cast<F*>(dlsym(dlopen(fake_nccl_file().c_str(), RTLD_NOW | RTLD_LOCAL), name));
  }

  nccl::Library library_;
};

}  // namespace plumb
