#include "tools/stream_arguments.hpp"

#include <array>
#include <string_view>

#include "models/error.hpp"
#include "tools/choice.hpp"
#include "tools/cost_arguments.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 2> kModes{"accuracy", "throughput"};

}  // namespace

void StreamArguments::add_to(ArgumentParser& parser) {
  constexpr std::int64_t kMost = 4096;
  parser.group("GPUs (back end cuda)")
      .whole("gpus", gpus, {1, kMost}, "that the devices are dealt out to (default: 1)")
      .whole("device-sms", sms, {2, kMost}, "multiprocessors of a virtual device (default: as the mode says)")
      .text("device-mode", mode, "MODE", "accuracy: 8 multiprocessors each, or throughput: all (default: accuracy)")
      .real("link-latency", link_latency_us, {0}, "of links between virtual devices, in us (default: 0)")
      .text("link-bandwidth", link_bandwidth, "BYTES", "per second, of such links: 50GB (default: as fast as it goes)")
      .text("product-table", product_table, "FILE",
            "algorithms of matrix products: taken from FILE where it is, kept there (default: chosen anew)")
      .real("watchdog", watchdog_s, {0}, "seconds without progress that end a run of streams (default: 120)")
      .flag("no-graphs", no_graphs, "launch kernels one by one, not as a graph per action");
}

StreamOptions StreamArguments::options() const {
  StreamOptions options;
  options.mode = choice<PartitionMode>(kModes, "mode", mode);
  options.sms = static_cast<std::int32_t>(sms.value_or(0));
  options.gpus = static_cast<std::int32_t>(gpus.value_or(1));
  options.link_latency_s = link_latency_us.value_or(0) * 1e-6;
  if (!link_bandwidth.empty()) {
    options.link_bytes_per_s = static_cast<double>(parse_bytes(link_bandwidth, "--link-bandwidth"));
  }
  options.product_table = product_table;
  options.watchdog_s = watchdog_s.value_or(options.watchdog_s);
  options.graphs = !no_graphs;
  return options;
}

}  // namespace plumb
