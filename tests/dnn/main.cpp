// Plans of cuDNN for GPUs that are only described: kernels are really compiled, for a driver that is not there. Exit
// status 77, with the reason, where cuDNN or the compiler that it loads is missing.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <dlfcn.h>

#include <iostream>
#include <string>

#include "models/ground/error.hpp"
#include "trainer/cuda/dnn/dnn_library.hpp"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  if (dlopen(PLUMB_FAKE_DRIVER, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::cout << dlerror() << "\n";
    return 1;
  }
  try {
    const std::string version = plumb::cuda::dnn_version();
    std::cout << "cuDNN " << version << "\n";
  } catch (const plumb::Error& error) {
    std::cout << "skipped: " << error.what() << "\n";
    return kSkipped;
  }
  return doctest::Context(argc, argv).run();
}
