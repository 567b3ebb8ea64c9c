#include "tools/ask/convert_question.hpp"

#include "tools/ask/answer.hpp"
#include "tools/ask/request.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"

namespace plumb {

void ConvertQuestion::add_to(OptionTable& table, const FileOptions& outputs) {
  table.positional(in, "IN,in");
  if (outputs) outputs();
  table.text("from", from, "FORMAT", "format of IN (default: by its extension, then by its first characters)")
      .words(schedule_format_names())
      .text("to", to, "FORMAT", "format of OUT (default: by its extension)")
      .words(schedule_format_names());
  size.add_to(table);
}

Schedule ConvertQuestion::load() const { return from.empty() ? load_schedule(in, size) : read_schedule(in, from); }

void ConvertQuestion::add_parts(const Request&, AnswerDocument& document) {
  document.command += " -";
  if (to.empty()) to = "json";
  document.add_schedule(in, to, load());
}

}  // namespace plumb
