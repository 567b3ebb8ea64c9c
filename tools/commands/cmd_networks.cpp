#include <algorithm>
#include <cmath>
#include <vector>

#include "models/import/load_network.hpp"
#include "models/network/network_io.hpp"
#include "models/stages/network_costs.hpp"
#include "tools/catalogue/catalogue_json.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

std::string networks_table() {
  TextTable table({{"name"},
                   {"parameters", '>'},
                   {"layers", '>'},
                   {"experts", '>'},
                   {"tokens per sample", '>'},
                   {"FLOPs per sample", '>'},
                   {.title = "source", .spare = true}});
  for (const std::string_view name : builtin_networks()) {
    const Network network = load_network(name);
    const std::int64_t experts = most_experts(network.layers);
    table.add_row({std::string(name), count_text(parameter_count(network)), std::to_string(network.layers.size()),
                   experts == 0 ? "-" : std::to_string(experts), std::to_string(network.sequence),
                   count_text(std::llround(sample_flops(network))), first_clause(network.source)});
  }
  return table.to_string();
}

}  // namespace

ExitStatus run_networks(const CommandLine& arguments) {
  OptionTable parser("networks [NAME|FILE] [options]",
                     "Lists the built-in models, or prints the document of one (its layers).");
  std::vector<std::string> names;
  bool json = false;
  parser.positionals(names, 0, "NAME").flag("json", json, "print the list as JSON");
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  for (const std::string& name : names) print(network_to_json(load_network(name)));
  if (names.empty()) print(json ? networks_json() : networks_table());
  return ExitStatus::kDone;
}

}  // namespace plumb
