#include "tools/ask/validate_question.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/findings.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

ExitStatus run_validate(const CommandLine& arguments) {
  OptionTable parser(
      ValidateQuestion::kUsage,
      "Checks that a schedule is complete, in a possible order, and free of deadlocks. Exit status 0: it is valid;\n"
      "3: it is not, and all findings are printed.");
  ValidateQuestion question;
  question.add_to(parser);
  if (!parse_command_line(parser, arguments)) return ExitStatus::kDone;
  question.given = parser.given();
  const CheckedSchedule checked = question.check();
  if (!checked.violations.empty()) {
    print(findings_text(question.name, checked.violations));
    return ExitStatus::kNo;
  }
  print(valid_text(question.name, checked.schedule) + next_text(question.next()));
  return ExitStatus::kDone;
}

}  // namespace plumb
