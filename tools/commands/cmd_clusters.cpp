#include "models/cluster/cluster_io.hpp"
#include "models/kernels/kernel_rates.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tools/catalogue/catalogue_json.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

std::string clusters_table() {
  TextTable table({{"name"},
                   {"devices", '>'},
                   {"per node", '>'},
                   {"compute per device", '>'},
                   {"memory per device", '>'},
                   {"link inside a node", '>'},
                   {"link between nodes", '>'},
                   {.title = "link to the host", .align = '>', .spare = true},
                   {.title = "source", .spare = true}});
  for (const std::string_view name : builtin_clusters()) {
    if (name == kMeasuredCluster) {
      table.add_row({std::string(name), "", "", "", "", "", "", "", "this machine, measured when the cluster is used"});
      continue;
    }
    const Cluster cluster = load_cluster(name);
    const DeviceSpec& device = cluster.devices.front();
    const auto link = [](const auto& way) {
      return way.bytes_per_s > 0 ? number_text(way.bytes_per_s / 1e9) + " GB/s" : std::string("-");
    };
    table.add_row({std::string(name), std::to_string(cluster.devices.size()), std::to_string(cluster.devices_per_node),
                   number_text(device.flops_per_s / 1e12) + " TFLOP/s", bytes_text(device.memory_bytes),
                   link(cluster.intra_node), link(cluster.inter_node), link(cluster.host_link),
                   first_clause(cluster.source)});
  }
  return table.to_string();
}

}  // namespace

ExitStatus run_clusters(const CommandLine& arguments) {
  OptionTable parser("clusters [NAME|FILE] [options]",
                     "Lists the built-in clusters, or prints the document of one (its devices and links).\n"
                     "NAME-4x8 is the same cluster with 4 nodes of 8 devices each, such as h100-8x8 for 64 devices.\n"
                     "The cluster `host` is this machine, measured when the command runs.");
  std::vector<std::string> names;
  bool json = false;
  parser.positionals(names, 0, "NAME").flag("json", json, "print the list as JSON");
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  for (const std::string& name : names) print(cluster_to_json(load_cluster(name)));
  if (names.empty()) print(json ? clusters_json() : clusters_table());
  return ExitStatus::kDone;
}

}  // namespace plumb
