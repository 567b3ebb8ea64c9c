#include "tools/ask/convert_question.hpp"

#include "tools/formats/schedule_formats.hpp"

namespace plumb {

void ConvertQuestion::add_input_to(OptionTable& table) { table.positional(in, "IN,in"); }

void ConvertQuestion::add_formats_to(OptionTable& table) {
  table.text("from", from, "FORMAT", "format of IN (default: by its extension, then by its first characters)")
      .words(schedule_format_names())
      .text("to", to, "FORMAT", "format of OUT (default: by its extension)")
      .words(schedule_format_names());
  size.add_to(table);
}

Schedule ConvertQuestion::load() const { return from.empty() ? load_schedule(in, size) : read_schedule(in, from); }

}  // namespace plumb
