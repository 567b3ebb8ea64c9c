#include <string>

#include "tests/fuzz/promise.hpp"
#include "tools/reports/picture_style.hpp"
#include "tools/reports/svg_text.hpp"
#include "tools/sweep/sweep_table.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb::testing {
namespace {

/// Whether `printable`, which is held by its own tests, has nothing to do in `text`.
bool is_plain(std::string_view text) { return printable(text) == text; }

/// `text` without lines, tabs and the codes of a colour, whose only letters are "[", digits, ";" and a last "m".
std::string without_drawing(std::string_view text) {
  std::string rest;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n' || text[at] == '\t') continue;
    if (text[at] == '\033') {
      const std::size_t end = text.find_first_not_of("[0123456789;", at + 1);
      promise(end != std::string_view::npos && text[end] == 'm' && end - at <= 8, "a short code of a colour");
      at = end;
      continue;
    }
    rest += text[at];
  }
  return rest;
}

}  // namespace
}  // namespace plumb::testing

/// Whatever a name, a caption or a note holds: a terminal gets letters, lines and colours, a picture text of XML, and a
/// spreadsheet no formula.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  using testing::promise;
  const std::string_view text = testing::text_of(data, size);
  const std::string shown = terminal_text(text);
  promise(testing::is_plain(testing::without_drawing(shown)), "nothing that acts on a terminal");
  promise(terminal_text(shown) == shown, "what can be shown is shown as it is");
  const std::string xml = xml_escaped(text);
  promise(testing::is_plain(xml), "text of XML");
  promise(xml.find_first_of("<>\"") == std::string::npos, "no markup");
  for (const std::string& line : wrapped_text(text, 20)) promise(testing::is_plain(line), "lines of a caption");
  SweepResult result;
  result.point.schedule = text;
  const std::string row = sweep_csv_row(result);
  const char first = row[row.front() == '"' ? 1 : 0];
  promise(first != '=' && first != '@' && first != '\t' && first != '\r', "no formula in a cell");
  return 0;
}
