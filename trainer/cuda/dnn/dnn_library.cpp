#include "trainer/cuda/dnn/dnn_library.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "models/ground/error.hpp"

namespace plumb::cuda {

namespace {

template <class F>
void find_dnn(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr) throw Error(std::string("cuDNN: has no function ") + name);
}

void* open_dnn() {
  const std::string name = "libcudnn.so." + std::to_string(CUDNN_MAJOR);
  const char* given = std::getenv("PLUMB_CUDNN");  // NOLINT(concurrency-mt-unsafe): nobody writes it
  std::vector<std::string> folders{"", "/usr/local/cuda/lib64/", "/usr/local/cuda/targets/x86_64-linux/lib/"};
  if (given != nullptr && *given != '\0') folders = {std::string(given) + "/"};
  std::string why;
  for (const std::string& folder : folders) {
    void* library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    if (why.empty()) why = dlerror();
  }
  throw Error("cuDNN: " + why + "; expected its folder in PLUMB_CUDNN or LD_LIBRARY_PATH");
}

DnnLibrary load_dnn() {
  void* library = open_dnn();
  DnnLibrary functions;
#define PLUMB_DNN_FIND(function) find_dnn(library, "cudnn" #function, functions.function);
  PLUMB_DNN_FUNCTIONS(PLUMB_DNN_FIND)
#undef PLUMB_DNN_FIND
  return functions;
}

}  // namespace

const DnnLibrary& dnn() {
  static const DnnLibrary library = load_dnn();
  return library;
}

std::string dnn_version() {
  const std::size_t version = dnn().GetVersion();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

void check_dnn(cudnnStatus_t status, const std::string& what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 1024> reason{};
  dnn().GetLastErrorString(reason.data(), reason.size() - 1);
  std::string text(reason.data());
  text = text.substr(0, text.find('\n'));
  throw Error("cuDNN: " + what + ": " + dnn().GetErrorString(status) + (text.empty() ? "" : " (" + text + ")"));
}

}  // namespace plumb::cuda
