#include "trainer/links/nccl_library.hpp"

#include <dlfcn.h>

#include "models/ground/error.hpp"

namespace plumb::nccl {
namespace {

/// Communicators are configured since then.
constexpr int kOldest = 21700;

template <class F>
void find(void* library, const std::string& file, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr) throw Error("NCCL: " + file + " has no function " + name + "; expected NCCL 2.17 or later");
}

std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

std::string why_no_library(const std::string& file) {
  return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr ? std::string(dlerror()) : std::string();
}

Library load_library(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error("NCCL: " + std::string(dlerror()) + "; expected NCCL 2.17 or later on the library path");
  }
  Library functions;
  find(library, file, "ncclGetVersion", functions.GetVersion);
  find(library, file, "ncclGetErrorString", functions.GetErrorString);
  find(library, file, "ncclGetLastError", functions.GetLastError);
  find(library, file, "ncclGetUniqueId", functions.GetUniqueId);
  find(library, file, "ncclCommInitRankConfig", functions.CommInitRankConfig);
  find(library, file, "ncclCommDestroy", functions.CommDestroy);
  find(library, file, "ncclCommAbort", functions.CommAbort);
  find(library, file, "ncclCommGetAsyncError", functions.CommGetAsyncError);
  find(library, file, "ncclGroupStart", functions.GroupStart);
  find(library, file, "ncclGroupEnd", functions.GroupEnd);
  find(library, file, "ncclSend", functions.Send);
  find(library, file, "ncclRecv", functions.Recv);
  int version = 0;
  if (functions.GetVersion(&version) != Result::kSuccess) version = 0;
  if (version < kOldest) throw Error("NCCL: " + file + " is " + version_text(version) + "; expected 2.17 or later");
  functions.version = version_text(version);
  return functions;
}

}  // namespace plumb::nccl
