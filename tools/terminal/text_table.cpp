#include "tools/terminal/text_table.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "tools/terminal/terminal.hpp"

namespace plumb {
namespace {

constexpr std::size_t kColumnGap = 2;      ///< between two columns
constexpr std::size_t kLeastWrapped = 16;  ///< a cell that is broken into lines keeps at least this width

/// Bytes of the first `columns` characters of `text`.
std::size_t bytes_within(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins && seen++ == columns) break;
  }
  return at;
}

/// Where the first line of `text` ends, and where the next one begins: `npos` where the text cannot be broken.
std::pair<std::size_t, std::size_t> line_end(std::string_view text, std::size_t columns) {
  const std::size_t room = bytes_within(text, columns);
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t blank = text.rfind(' ', room);
  if (blank != std::string_view::npos && blank > first) return {blank, blank + 1};
  const std::size_t comma = room == 0 ? std::string_view::npos : text.rfind(',', room - 1);
  if (comma != std::string_view::npos && comma > first) return {comma + 1, comma + 1};
  const std::size_t later = text.find_first_of(" ,", std::max(room, first));
  if (later == std::string_view::npos || later + 1 == text.size()) return {text.size(), std::string_view::npos};
  return text[later] == ',' ? std::pair(later + 1, later + 1) : std::pair(later, later + 1);
}

std::vector<std::string> lines_within(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  while (display_width(text) > columns) {
    const auto [end, next] = line_end(text, columns);
    if (next == std::string_view::npos) break;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(next);
  }
  lines.emplace_back(text);
  return lines;
}

/// The widest piece of `text` that is never broken.
std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  for (const std::string& line : lines_within(text, 1)) longest = std::max(longest, display_width(line));
  return longest;
}

/// One column as it is printed: the lines of its title and of each cell.
struct FittedColumn {
  char align = '<';
  std::size_t natural = 0;  ///< width of its widest cell
  std::size_t least = 0;    ///< it is never narrower
  std::size_t width = 0;
};

bool says_nothing(const std::string& cell) { return cell.empty() || cell == "-"; }

/// A table whose titles and texts may be broken into lines, in blocks of columns.
class FittedTable {
 public:
  /// `room`: 0: as wide as it is.
  FittedTable(const std::vector<TextTable::Column>& columns, const std::vector<std::vector<std::string>>& rows,
              std::size_t room)
      : titles_(columns), rows_(rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) fitted_.push_back(fit(i, room > 0));
    std::vector<std::size_t> all(columns.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (room == 0 || shrink_texts(all, room)) {
      blocks_.push_back(std::move(all));
      return;
    }
    form_blocks(room);
    for (const std::vector<std::size_t>& block : blocks_) shrink_texts(block, room);
  }

  std::string to_string() const {
    std::string text;
    for (const std::vector<std::size_t>& block : blocks_) {
      if (!text.empty()) text += '\n';
      add_titles(block, text);
      for (const auto& row : rows_) {
        add_lines(
            block, [&](std::size_t i) { return lines_within(row[i], fitted_[i].width); }, text);
      }
    }
    return text;
  }

 private:
  FittedColumn fit(std::size_t i, bool breaks_titles) const {
    FittedColumn column{.align = titles_[i].align};
    std::size_t word = 0;
    for (const auto& row : rows_) {
      column.natural = std::max(column.natural, display_width(row[i]));
      if (column.align == '<') word = std::max(word, longest_word(row[i]));
    }
    const auto width_of = breaks_titles ? longest_word : display_width;
    const std::size_t title = std::max(width_of(titles_[i].title), width_of(titles_[i].above));
    column.natural = std::max(column.natural, title);
    const bool breaks = column.align == '<';
    if (breaks) column.natural = std::max(column.natural, display_width(titles_[i].title));
    column.least = breaks ? std::min(column.natural, std::max({word, title, kLeastWrapped})) : column.natural;
    column.width = column.natural;
    return column;
  }

  /// Narrows the texts of `block`, the widest first, until it fits; returns whether it does.
  bool shrink_texts(const std::vector<std::size_t>& block, std::size_t room) {
    std::size_t wide = 0;
    for (const std::size_t i : block) wide += fitted_[i].width + (wide > 0 ? kColumnGap : 0);
    std::vector<std::size_t> narrowed;
    for (const FittedColumn& column : fitted_) narrowed.push_back(column.width);
    for (; wide > room; --wide) {
      std::optional<std::size_t> widest;
      for (const std::size_t i : block) {
        if (narrowed[i] > fitted_[i].least && (!widest || narrowed[i] > narrowed[*widest])) widest = i;
      }
      if (!widest) break;
      --narrowed[*widest];
    }
    const bool alone = block.size() < fitted_.size();
    if (wide > room && !alone) return false;
    for (std::size_t i = 0; i < fitted_.size(); ++i) fitted_[i].width = narrowed[i];
    return wide <= room;
  }

  /// Fills blocks with columns from the left; texts count as narrow as they may become.
  void form_blocks(std::size_t room) {
    const auto least_width = [&](std::size_t i) { return fitted_[i].least; };
    std::size_t used = 0;
    for (std::size_t i = 0; i < fitted_.size(); ++i) {
      if (blocks_.empty()) {
        blocks_.push_back({i});
        used = least_width(i);
        continue;
      }
      if (used + kColumnGap + least_width(i) > room && blocks_.back().size() > 1) {
        blocks_.push_back({0});
        used = least_width(0);
      }
      blocks_.back().push_back(i);
      used += kColumnGap + least_width(i);
    }
  }

  std::vector<std::string> title_lines(std::size_t i) const {
    const std::size_t width = fitted_[i].width;
    std::vector<std::string> lines = lines_within(titles_[i].above, width);
    if (titles_[i].above.empty()) lines.clear();
    for (std::string& line : lines_within(titles_[i].title, width)) lines.push_back(std::move(line));
    return lines;
  }

  void add_titles(const std::vector<std::size_t>& block, std::string& text) const {
    std::size_t most = 0;
    for (const std::size_t i : block) most = std::max(most, title_lines(i).size());
    const bool names_a_value = fitted_.size() == 2 && fitted_.back().align == '<';
    add_lines(
        block,
        [&](std::size_t i) {
          std::vector<std::string> lines = title_lines(i);
          if (!names_a_value) lines.insert(lines.begin(), most - lines.size(), "");
          return lines;
        },
        text);
  }

  template <class LinesOf>
  void add_lines(const std::vector<std::size_t>& block, const LinesOf& lines_of, std::string& text) const {
    std::vector<std::vector<std::string>> cells;
    std::size_t most = 0;
    for (const std::size_t i : block) {
      cells.push_back(lines_of(i));
      most = std::max(most, cells.back().size());
    }
    for (std::size_t at = 0; at < most; ++at) {
      std::string line;
      for (std::size_t k = 0; k < block.size(); ++k) {
        const FittedColumn& column = fitted_[block[k]];
        const std::string cell = at < cells[k].size() ? cells[k][at] : "";
        const std::size_t used = display_width(cell);
        const std::string padding(used < column.width ? column.width - used : 0, ' ');
        if (k > 0) line += std::string(kColumnGap, ' ');
        line += column.align == '>' ? padding + cell : cell + padding;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
  }

  const std::vector<TextTable::Column>& titles_;
  const std::vector<std::vector<std::string>>& rows_;
  std::vector<FittedColumn> fitted_;
  std::vector<std::vector<std::size_t>> blocks_;
};

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::add_row(std::vector<std::string> cells) {
  assert(cells.size() <= columns_.size());
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void TextTable::leave_out_empty_columns() {
  for (std::size_t i = columns_.size(); i-- > 0;) {
    if (rows_.empty() || !std::ranges::all_of(rows_, [i](const auto& row) { return says_nothing(row[i]); })) continue;
    leave_out(i);
  }
}

void TextTable::leave_out(std::size_t column) {
  columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(column));
  for (auto& row : rows_) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
}

void TextTable::join_equal_rows() {
  std::vector<std::vector<std::string>> joined;
  std::map<std::vector<std::string>, std::size_t> known;
  std::vector<std::vector<std::int64_t>> numbers;
  for (const auto& row : rows_) {
    const auto [at, is_new] = known.try_emplace({row.begin() + 1, row.end()}, joined.size());
    if (is_new) {
      joined.push_back(row);
      numbers.emplace_back();
    }
    numbers[at->second].push_back(std::strtoll(row.front().c_str(), nullptr, 10));
  }
  for (std::size_t i = 0; i < joined.size(); ++i) joined[i].front() = ranges_text(numbers[i]);
  rows_ = std::move(joined);
}

std::size_t TextTable::width() const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = std::max(display_width(columns_[i].title), display_width(columns_[i].above));
    for (const auto& row : rows_) widest = std::max(widest, display_width(row[i]));
    sum += widest + (i > 0 ? kColumnGap : 0);
  }
  return sum;
}

std::string TextTable::to_string() const { return to_string(static_cast<std::size_t>(terminal_columns())); }

std::string TextTable::to_string(std::size_t columns) const {
  if (columns_.empty()) return "";
  if (width() <= columns) return FittedTable(columns_, rows_, 0).to_string();
  TextTable fewer = *this;
  fewer.leave_out_empty_columns();
  if (fewer.columns_.empty()) fewer = *this;
  for (std::size_t i = fewer.columns_.size(); i-- > 0;) {
    if (fewer.columns_[i].spare && fewer.width() > columns) fewer.leave_out(i);
  }
  return FittedTable(fewer.columns_, fewer.rows_, fewer.width() <= columns ? 0 : columns).to_string();
}

std::string ranges_text(const std::vector<std::int64_t>& sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(sorted[i]);
    if (last > i) text += "-" + std::to_string(sorted[last]);
    i = last + 1;
  }
  return text;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string result;
  const std::size_t room = columns > indent ? columns - indent : 1;
  for (const std::string& line : lines_within(text, room)) {
    result += (result.empty() ? "" : "\n" + std::string(indent, ' ')) + line;
  }
  return result;
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
