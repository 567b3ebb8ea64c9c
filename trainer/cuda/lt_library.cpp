#include "trainer/cuda/lt_library.hpp"

#include <dlfcn.h>

#include <string>

#include "models/ground/error.hpp"

namespace plumb::cuda {

namespace {

template <class F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr) throw Error(std::string("cuBLASLt: has no function ") + name);
}

/// Opens the library where the loader looks, then where the toolkit is.
void* open_library() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  std::string why;
  for (const char* folder : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/targets/x86_64-linux/lib/"}) {
    void* library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    if (why.empty()) why = dlerror();
  }
  throw Error("cuBLASLt: " + why + "; expected its folder in LD_LIBRARY_PATH");
}

LtLibrary load() {
  void* library = open_library();
  LtLibrary functions;
#define PLUMB_LT_FIND(function) find(library, "cublasLt" #function, functions.function);
  PLUMB_LT_FUNCTIONS(PLUMB_LT_FIND)
#undef PLUMB_LT_FIND
  return functions;
}

}  // namespace

const LtLibrary& lt() {
  static const LtLibrary library = load();
  return library;
}

}  // namespace plumb::cuda
