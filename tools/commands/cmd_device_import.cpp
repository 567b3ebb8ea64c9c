#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/device_commands.hpp"
#include "tools/devices/measured_device.hpp"
#include "tools/devices/nccl_tests.hpp"
#include "tools/devices/simumax_file.hpp"
#include "tools/devices/step_check.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

struct ImportArguments {
  std::vector<std::string> files;
  std::string cluster;
  std::string rates;
  std::string network;
  std::string op;
  std::string output;
  std::string cluster_output;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "device import FILE... [options]",
        "Reads measurements of a device and writes the document of its rates (--rates of simulate, plan, sweep).\n"
        "FILE is what measure_device.py wrote, a system file of SimuMax, or the output of all_reduce_perf,\n"
        "all_gather_perf, reduce_scatter_perf or alltoall_perf of nccl-tests or rccl-tests; several add up.");
    parser.positionals(files, 1, "FILE")
        .text("cluster", cluster, "NAME|FILE",
              "whose peaks and links the shares are of (default: the best rates that were measured)")
        .text("rates", rates, "FILE", "what was not measured comes from here (default: built in for the device's name)")
        .text("network", network, "NAME|FILE",
              "predict the training step that was timed beside the kernels, and print its error")
        .text("op", op, "NAME",
              "which collective nccl-tests ran, where its output does not say: all_reduce, all_gather,\n"
              "reduce_scatter, alltoall or broadcast")
        .text("output,o", output, "FILE", "the device's document (- is standard output)")
        .text("cluster-output", cluster_output, "FILE", "the document of a cluster with the measured peaks and links");
    return parse_command_line(parser, arguments);
  }
};

bool is_timings(std::string_view text, const std::string& file) {
  const JsonDocument document{std::string(text), file};
  return document.root().is_object() && document.root().find("format").has_value();
}

void append(KernelTimings& all, KernelTimings more) {
  const bool first = all.products.empty() && !more.products.empty();
  if (first) {
    std::swap(more.collectives, all.collectives);
    more.collectives.insert(more.collectives.end(), all.collectives.begin(), all.collectives.end());
    if (!all.source.empty()) more.source += "; " + all.source;
    all = std::move(more);
    return;
  }
  if (all.device.empty()) all.device = more.device;
  all.source += (all.source.empty() ? "" : "; ") + more.source;
  const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(all.products, more.products);
  add(all.attentions, more.attentions);
  add(all.movements, more.movements);
  add(all.collectives, more.collectives);
}

KernelTimings read_timings(const std::string& file, const std::string& op) {
  const std::string text = read_text_file(file);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '{') {
    return is_timings(text, file) ? kernel_timings_from_json(text, file) : simumax_timings(text, file);
  }
  if (!is_nccl_test_output(text)) {
    throw Error(file +
                ": neither timings of measure_device.py, nor a system file of SimuMax, nor output of nccl-tests");
  }
  NcclTestRun run =
      nccl_test_run(text, file, op.empty() ? std::nullopt : std::optional<CollectiveOp>(collective_named(op)));
  KernelTimings timings;
  timings.device = run.device;
  timings.source = "collectives of " + std::to_string(run.ranks) + " x " + run.device + ", nccl-tests";
  timings.collectives = std::move(run.timed);
  return timings;
}

}  // namespace

ExitStatus run_device_import(const CommandLine& command_line) {
  ImportArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  KernelTimings timings;
  for (const std::string& file : arguments.files) append(timings, read_timings(file, arguments.op));
  if (arguments.cluster.empty() && timings.products.empty()) {
    throw Error("device import: only collectives were measured, expected --cluster NAME, whose links these are");
  }
  const Cluster cluster = arguments.cluster.empty() ? measured_cluster(timings) : load_cluster(arguments.cluster);
  KernelRates base = arguments.rates.empty()
                         ? kernel_rates_of(cluster.devices.front())
                         : kernel_rates_from_json(read_text_file(arguments.rates, kKernelRatesFile), arguments.rates);
  const KernelRates rates = measured_rates(timings, cluster, std::move(base));
  check_distinct_outputs({arguments.output, arguments.cluster_output});
  if (!arguments.output.empty()) OutputFile(arguments.output).finish(kernel_rates_to_json(rates));
  if (!arguments.cluster_output.empty()) OutputFile(arguments.cluster_output).finish(cluster_to_json(cluster));
  if (arguments.output == "-" || arguments.cluster_output == "-") return ExitStatus::kDone;
  std::string text = timings_text(timings, cluster, rates);
  if (timings.step && !arguments.network.empty()) {
    const Network network = load_network(arguments.network);
    text += "\n" + step_check_text(step_of_kernels(network, timings, cluster, rates), *timings.step);
  }
  print(text);
  return ExitStatus::kDone;
}

}  // namespace plumb
