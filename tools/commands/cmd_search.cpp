#include <algorithm>
#include <array>
#include <iostream>

#include "schedules/document/schedule_io.hpp"
#include "tools/ask/search_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// Options of the search itself; a simulation of its answer has none of them. All take a value.
constexpr std::array<std::string_view, 16> kOwnOptions{
    "-p",          "--devices", "-m",      "--microbatches", "-o",         "--output", "--json",
    "--placement", "--repeat",  "--nodes", "--simulations",  "--backward", "-v",       "--chunks",
    "--opt",       "--shape"};

bool is_own(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  return std::ranges::find(kOwnOptions, name) != kOwnOptions.end();
}

/// The command that simulates the document `file` as the search did, whose command line was `arguments`. `start`: the
/// schedule that it names; empty: none.
std::string simulate_command(const CommandLine& arguments, const std::string& start, const std::string& file) {
  std::string command = "plumbline simulate " + shell_word(file);
  bool abstract = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool short_with_value = word.size() > 2 && word[1] != '-' && is_own(word.substr(0, 2));
    if (is_own(word)) {
      if (word.find('=') == std::string::npos) ++i;
      continue;
    }
    if (short_with_value || word == start) continue;
    abstract = abstract && !word.starts_with("--network") && !word.starts_with("--profile");
    command += " " + shell_word(word);
  }
  if (abstract && command.find(" --cost") == std::string::npos) command += " --cost F=1,B=2";
  return command + " --summary";
}

}  // namespace

ExitStatus run_search(const CommandLine& arguments) {
  OptionTable parser(
      SearchQuestion::kUsage,
      "Searches the best order for given costs and memory: all schedules of the catalogue that fit, with the values\n"
      "of their options, orders that repeat with a proved smallest period, all orders of small pipelines by branch\n"
      "and bound, and steps from all of these. A lower bound says how much shorter any order of the same passes on\n"
      "the same placement could be. With NAME or FILE that schedule is improved: open orders are filled in, counts of\n"
      "rules varied, passes and pairs moved. Abstract costs are those of a device. Exit status 3: no order fits in\n"
      "memory.");
  SearchQuestion question;
  OutputFiles files;
  question.add_to(parser);
  files.add_to(parser.group("Output"), "output,o", "write the best order as a schedule document")
      .add_to(parser, "json", "write all orders, bounds and periods as JSON (- is standard output)");
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  const std::string& output = files.path("output");
  check_document_extension(output, "-o");
  files.open();
  const OrderSearchAnswer answer = question.answer();
  files.finish("json", [&] { return order_search_json(answer); });
  if (answer.found.orders.empty()) {
    std::cerr << terminal_text(no_order_text(answer)) << "\n";
    return ExitStatus::kNo;
  }
  files.finish("output", [&] { return schedule_to_json(answer.found.orders.front().schedule); });
  if (files.take_standard_output()) return ExitStatus::kDone;
  print(order_search_text(answer));
  if (!output.empty())
    print("\nthe same by the simulator:\n  " + simulate_command(arguments, answer.start, output) + "\n");
  return ExitStatus::kDone;
}

}  // namespace plumb
