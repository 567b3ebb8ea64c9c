#include <iostream>

#include "schedules/document/schedule_io.hpp"
#include "tools/ask/search_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

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
  question.given = parser.given();
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
  print(order_search_text(answer) + next_text(question.next(answer, output)));
  return ExitStatus::kDone;
}

}  // namespace plumb
