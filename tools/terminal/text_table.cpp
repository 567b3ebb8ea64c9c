#include "tools/terminal/text_table.hpp"

#include <algorithm>
#include <cassert>

namespace plumb {

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::add_row(std::vector<std::string> cells) {
  assert(cells.size() <= columns_.size());
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void TextTable::leave_out_empty_columns() {
  for (std::size_t i = columns_.size(); i-- > 0;) {
    const auto says_nothing = [i](const std::vector<std::string>& row) { return row[i].empty() || row[i] == "-"; };
    if (rows_.empty() || !std::ranges::all_of(rows_, says_nothing)) continue;
    columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(i));
    for (auto& row : rows_) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::string TextTable::to_string() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) {
    widths.push_back(std::max(display_width(column.title), display_width(column.above)));
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - display_width(cell), ' ');
      if (i > 0) line += "  ";
      line += columns_[i].align == '>' ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  const auto has_two_lines = [](const Column& column) { return !column.above.empty(); };
  if (std::ranges::any_of(columns_, has_two_lines)) {
    add_line([&](std::size_t i) -> const std::string& { return columns_[i].above; });
  }
  add_line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) add_line([&](std::size_t i) -> const std::string& { return row[i]; });
  return text;
}

std::string first_clause(std::string_view text) { return std::string(text.substr(0, text.find(';'))); }

std::string markdown_cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c == '\n' ? ' ' : c);
  return escaped;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace plumb
