#include "models/jobs/kernel_rates.hpp"

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {

TEST_CASE("tiles and waves that are not full cost what full ones do") {
  KernelRates rates;
  rates.gemm_efficiency = 0.8;
  rates.tile_m = 256;
  rates.tile_n = 128;
  rates.multiprocessors = 108;
  CHECK(rates.gemm_share(256 * 108, 128, 4096) == doctest::Approx(0.8));
  CHECK(rates.gemm_share(256 * 109, 128, 4096) == doctest::Approx(0.8 * 109 / 216));
  CHECK(rates.gemm_share(256 * 108, 129, 4096) == doctest::Approx(0.8 * 129 / 256));
  CHECK(rates.gemm_share(256, 128, 4096, 108) == doctest::Approx(0.8));
  rates.gemm_half_k = 4096;
  CHECK(rates.gemm_share(256 * 108, 128, 4096) == doctest::Approx(0.4));
}

TEST_CASE("what fits leaves room for context, libraries and the allocator") {
  KernelRates rates;
  rates.memory_reserve = 0.25;
  rates.context_bytes = 100;
  rates.library_bytes = 200;
  CHECK(rates.usable_bytes(1550) == 1000);
  CHECK(rates.usable_bytes(10) == 0);
}

TEST_CASE("a table of shapes answers with its nearest class") {
  KernelRates rates;
  rates.gemms = {{1024, 1024, 1024, 0.3}, {8192, 8192, 8192, 0.7}};
  CHECK(rates.gemm_share(1024, 1024, 1024) == 0.3);
  CHECK(rates.gemm_share(2048, 1024, 2048) == 0.3);
  CHECK(rates.gemm_share(8192, 4096, 8192) == 0.7);
}

TEST_CASE("the document of a device round-trips, and mistakes are named by place") {
  KernelRates rates;
  rates.device = "X";
  rates.source = "made up";
  rates.host_ns = 7;
  rates.gemms = {{1, 2, 3, 0.5}};
  CHECK(kernel_rates_from_json(kernel_rates_to_json(rates), "x.json") == rates);
  const char* const wrong =
      R"({"format": "plumbline-device", "version": 1, "device": "X", "gemms": [{"m": 1, "n": 2, "k": 3}]})";
  CHECK_THROWS_WITH_AS(kernel_rates_from_json(wrong, "x.json"), doctest::Contains("x.json:1:"), Error);
}

TEST_CASE("built-in rates are found by the beginning of a device's name") {
  DeviceSpec device = load_cluster("a100").devices.front();
  CHECK(kernel_rates_of(device).device == "A100");
  device.name = "unheard of";
  device.compute_efficiency = 0.37;
  CHECK(kernel_rates_of(device).gemm_efficiency == 0.37);
}

TEST_CASE("a kernel takes its work or its traffic, whichever is longer, and the host its launches") {
  DeviceSpec device;
  device.flops_per_s = 1e12;
  device.memory_bytes_per_s = 1e9;
  KernelRates rates;
  rates.gemm_efficiency = 0.5;
  rates.tile_m = rates.tile_n = 1;
  rates.memory_efficiency = 0.5;
  rates.kernel_ns = 1000;
  rates.host_ns = 3000;
  PassKernels pass;
  pass.gemm(1000, 1000, 1000);
  pass.memory(1e6, 2);
  const KernelTime product = kernel_time(pass.list[0], device, rates);
  CHECK(product.device_s == doctest::Approx(6e6 / 0.5e9 + 1e-6));  // its traffic
  const KernelTime moving = kernel_time(pass.list[1], device, rates);
  CHECK(moving.device_s == doctest::Approx(2e-3 + 2e-6));
  CHECK(moving.host_s == doctest::Approx(6e-6));
}

}  // namespace plumb

TEST_SUITE_END();
