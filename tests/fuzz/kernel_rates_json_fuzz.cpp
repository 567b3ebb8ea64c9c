#include "models/kernels/kernel_rates_io.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is the rates of a device, which come back as they were and give shares of the peak, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] { return kernel_rates_from_json(testing::text_of(data, size), "fuzz.json"); },
      [](const KernelRates& rates) {
        testing::promise(kernel_rates_from_json(kernel_rates_to_json(rates), "again.json") == rates, "the same rates");
        for (const std::int64_t width : {1, 100, 4096}) {
          const double product = rates.gemm_share({.m = width, .n = width, .k = width});
          const double attention = rates.attention_share({.rows = width, .columns = width});
          testing::promise(product > 0 && product <= 1, "a share of the peak");
          testing::promise(attention > 0 && attention <= 1, "a share of the peak");
        }
      });
}
