// Runs on a real GPU; exit status 77, with the reason, where there is none. The cases of kernels also run on the
// emulated device: their sources are those of tests/cuda_kernels.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <iostream>

#include "trainer/cuda/cuda_devices.hpp"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  const plumb::CudaDevices found = plumb::cuda_devices();
  if (found.names.empty()) {
    std::cout << "skipped: " << found.reason << "\n";
    return kSkipped;
  }
  std::cout << "on " << found.names.front() << "\n";
  return doctest::Context(argc, argv).run();
}
