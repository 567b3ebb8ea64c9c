#include "tools/training/stream_arguments.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "tools/options/choice.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 2> kModes{"accuracy", "throughput"};
constexpr std::array<std::string_view, 3> kComputedBy{"own", "cudnn", "fastest"};

/// Who computes `name`, kept in the file `table` where there is one.
ComputedBy computed_by(const std::string& given, const std::string& name, const std::string& table,
                       const std::string& table_name) {
  const auto by = enumerator<ComputedBy>(kComputedBy, name, given.empty() ? "own" : given);
  if (by == ComputedBy::kFastest && table.empty()) {
    throw Error("--" + name + " fastest: times differ from run to run, and so would the bits; expected --" +
                table_name + " with it");
  }
  if (by == ComputedBy::kOwn && !table.empty()) {
    throw Error("--" + table_name + ": nothing is chosen, expected --" + name + " cudnn or fastest with it");
  }
  return by;
}

}  // namespace

void StreamArguments::add_to(OptionTable& parser) {
  constexpr std::int64_t kMost = 4096;
  parser.group("GPUs (back end cuda)")
      .whole("gpus", gpus, {1, kMost},
             "number of GPUs that the devices of the schedule are distributed over (default: 1)")
      .whole("device-sms", sms, {2, kMost}, "multiprocessors per virtual device (default: see --device-mode)")
      .text("device-mode", mode, "MODE",
            "accuracy: 8 multiprocessors per virtual device; throughput: all (default: accuracy)")
      .words(kModes)
      .real("link-latency", link_latency_us, {0},
            "latency of links between virtual devices in microseconds (default: 0)")
      .text("link-bandwidth", link_bandwidth, "BYTES",
            "bandwidth of such links in bytes/s, such as 50GB (default: unlimited)")
      .text("product-table", product_table, "FILE",
            "keep the chosen matrix-product algorithms in FILE and reuse them (default: choose them in every run)")
      .whole("product-trials", product_trials, {1, 32},
             "time that many algorithms for each matrix product and take the fastest; needs --product-table, so that "
             "other runs take it, too (default: 1, the library's first one)")
      .text("attention", attention, "BY",
            "who computes attention in bf16: own kernels, cudnn where its results are the same, or fastest of the two, "
            "which needs --attention-table (default: own)")
      .words(kComputedBy)
      .text("attention-table", attention_table, "FILE",
            "keep the choices of --attention in FILE and reuse them (default: choose in every run)")
      .text("convolutions", convolutions, "BY",
            "who computes convolutions in bf16: own kernels, cudnn where its results are the same, or fastest of the "
            "two, which needs --convolution-table (default: own)")
      .words(kComputedBy)
      .text("convolution-table", convolution_table, "FILE",
            "keep the choices of --convolutions in FILE and reuse them (default: choose in every run)")
      .real("watchdog", watchdog_s, {0}, "end a run on streams after this many seconds without progress (default: 120)")
      .flag("no-graphs", no_graphs, "launch kernels one by one instead of one CUDA graph per action");
}

void StreamArguments::check(const Backend& backend, std::string_view executor) const {
  if (backend.only_streams) return;
  const std::string chosen = "the back end is " + std::string(backend.name);
  const std::array<std::pair<bool, std::string_view>, 11> of_gpus{{{gpus.has_value(), "gpus"},
                                                                   {sms.has_value(), "device-sms"},
                                                                   {!mode.empty(), "device-mode"},
                                                                   {link_latency_us.has_value(), "link-latency"},
                                                                   {!link_bandwidth.empty(), "link-bandwidth"},
                                                                   {!product_table.empty(), "product-table"},
                                                                   {product_trials.has_value(), "product-trials"},
                                                                   {!attention.empty(), "attention"},
                                                                   {!attention_table.empty(), "attention-table"},
                                                                   {!convolutions.empty(), "convolutions"},
                                                                   {!convolution_table.empty(), "convolution-table"}}};
  for (const auto& [given, name] : of_gpus) {
    if (given) throw Error("--" + std::string(name) + ": " + chosen + ", expected --backend cuda with it");
  }
  if (executor == "streams") return;
  const std::array<std::pair<bool, std::string_view>, 2> of_streams{
      {{watchdog_s.has_value(), "watchdog"}, {no_graphs, "no-graphs"}}};
  for (const auto& [given, name] : of_streams) {
    if (given) {
      throw Error("--" + std::string(name) + ": " + chosen + " with executor " + std::string(executor) +
                  ", expected --backend cuda or --executor streams with it");
    }
  }
}

StreamOptions StreamArguments::options(const Backend& backend, std::string_view executor) const {
  check(backend, executor);
  StreamOptions options;
  options.mode = enumerator<PartitionMode>(kModes, "mode", mode.empty() ? std::string(kModes.front()) : mode);
  options.sms = static_cast<std::int32_t>(sms.value_or(0));
  options.gpus = static_cast<std::int32_t>(gpus.value_or(1));
  options.link_latency_s = link_latency_us.value_or(0) * 1e-6;
  if (!link_bandwidth.empty()) {
    options.link_bytes_per_s = static_cast<double>(parse_bytes(link_bandwidth, "--link-bandwidth"));
  }
  options.product_table = product_table;
  options.product_trials = static_cast<std::int32_t>(product_trials.value_or(1));
  if (options.product_trials > 1 && product_table.empty()) {
    throw Error("--product-trials " + std::to_string(options.product_trials) +
                ": times differ from run to run, and so would the bits; expected --product-table with it");
  }
  options.attention = computed_by(attention, "attention", attention_table, "attention-table");
  options.attention_table = attention_table;
  options.convolutions = computed_by(convolutions, "convolutions", convolution_table, "convolution-table");
  options.convolution_table = convolution_table;
  options.watchdog_s = watchdog_s.value_or(options.watchdog_s);
  options.graphs = !no_graphs;
  return options;
}

}  // namespace plumb
