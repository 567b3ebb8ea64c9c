#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// Columns of text, padded with spaces: `<` columns to the left, `>` columns to the right.
///
///                      idle:
///   schedule  bubble  warm-up
///   1f1b      27.3 %     3 ms
///
/// A table that is wider than the terminal leaves out its spare columns and those that say nothing (every cell is empty
/// or "-"), breaks its titles at blanks, and then the cells of `<` columns. What is still too wide stands below: the
/// first column again, and the columns that had no room. Numbers are never cut.
class TextTable {
 public:
  struct Column {
    std::string title;
    char align = '<';
    std::string above = {};  ///< a first line of the title, such as "idle:"
    bool spare = false;      ///< left out where the table would be too wide
  };

  explicit TextTable(std::vector<Column> columns);

  /// Cells from the left; missing ones are empty.
  void add_row(std::vector<std::string> cells);

  /// Leaves out columns that say nothing: every cell is empty or "-".
  void leave_out_empty_columns();

  /// Joins rows that are equal but for the cell of their first column, a number, which becomes "0-3, 7".
  void join_equal_rows();

  /// As wide as the terminal. Every line ends with a line feed; no line ends with spaces.
  std::string to_string() const;
  /// In at most `columns` characters, where words and numbers allow it.
  std::string to_string(std::size_t columns) const;

 private:
  std::size_t width() const;
  void leave_out(std::size_t column);

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "0-3, 7": runs of neighbours joined.
std::string ranges_text(const std::vector<std::int64_t>& sorted);

/// `text` in lines of at most `columns` characters, broken at blanks, or where there are none after commas. A longer
/// word is left whole. `indent` characters stand before the first line already, and as many blanks begin the others.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent = 0);

/// `text` up to its first semicolon: what fits in a table.
std::string first_clause(std::string_view text);

/// `text` for a cell of a Markdown table: on one line, with its bars escaped.
std::string markdown_cell(std::string_view text);

/// Characters that `text` takes on a terminal (UTF-8, one column each).
std::size_t display_width(std::string_view text);

}  // namespace plumb
