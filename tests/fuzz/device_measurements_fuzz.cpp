#include <cmath>
#include <string>
#include <vector>

#include "models/kernels/kernel_rates_io.hpp"
#include "tests/fuzz/promise.hpp"
#include "tools/devices/measured_device.hpp"
#include "tools/devices/nccl_tests.hpp"
#include "tools/devices/simumax_file.hpp"

namespace {

/// What was timed makes a device whose rates come back as they were, or is refused.
void check_timings(const plumb::KernelTimings& timings) {
  using namespace plumb;
  testing::read_or_refuse(
      [&] {
        const Cluster cluster = measured_cluster(timings);
        return measured_rates(timings, cluster, kernel_rates_of(cluster.devices.front()));
      },
      [](const KernelRates& rates) {
        testing::promise(kernel_rates_from_json(kernel_rates_to_json(rates), "again.json") == rates, "the same rates");
      });
}

}  // namespace

/// Any text is what `device import` reads: timings of measure_device.py, a system file of SimuMax, or output of
/// nccl-tests or rccl-tests, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const std::string_view text = testing::text_of(data, size);
  testing::read_or_refuse([&] { return kernel_timings_from_json(text, "fuzz.json"); }, check_timings);
  testing::read_or_refuse([&] { return simumax_timings(text, "fuzz.json"); }, check_timings);
  for (const char* op : {"", "all_reduce", "alltoall"}) {
    const std::optional<CollectiveOp> given = *op == '\0' ? std::nullopt : std::optional(collective_named(op));
    testing::read_or_refuse([&] { return nccl_test_run(text, "fuzz.txt", given); },
                            [](const NcclTestRun& run) {
                              for (const TimedCollective& timed : run.timed) {
                                testing::promise(timed.bytes >= 1024, "sizes below 1 KiB are left out");
                                testing::promise(std::isfinite(timed.seconds) && timed.seconds > 0, "a time");
                              }
                            });
  }
  return 0;
}
