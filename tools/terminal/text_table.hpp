#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// Columns of text, padded with spaces: `<` columns to the left, `>` columns to the right.
///
///                      idle:
///   schedule  bubble  warm-up
///   1f1b      27.3 %     3 ms
class TextTable {
 public:
  struct Column {
    std::string title;
    char align = '<';
    std::string above = {};  ///< a first line of the title, such as "idle:"
  };

  explicit TextTable(std::vector<Column> columns);

  /// Cells from the left; missing ones are empty.
  void add_row(std::vector<std::string> cells);

  /// Leaves out columns that say nothing: every cell is empty or "-".
  void leave_out_empty_columns();

  /// Every line ends with a line feed; no line ends with spaces.
  std::string to_string() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// `text` up to its first semicolon: what fits in a table.
std::string first_clause(std::string_view text);

/// `text` for a cell of a Markdown table: on one line, with its bars escaped.
std::string markdown_cell(std::string_view text);

/// Characters that `text` takes on a terminal (UTF-8, one column each).
std::size_t display_width(std::string_view text);

}  // namespace plumb
