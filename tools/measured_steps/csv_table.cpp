#include "tools/measured_steps/csv_table.hpp"

#include <algorithm>
#include <utility>

#include "models/ground/error.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// Each takes memory of its own, so that a file of commas would take a hundred times its size.
constexpr std::size_t kMostFields = 1'000'000;

/// Takes fields off the front of a text.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file_name) : text_(text), file_name_(file_name) {}

  bool done() const { return at_ >= text_.size(); }
  std::size_t line() const { return line_; }

  std::vector<std::string> row() {
    std::vector<std::string> fields;
    do {
      if (++fields_ > kMostFields) {
        throw Error(file_name_ + ":" + std::to_string(line_) + ": expected a table of at most " +
                    std::to_string(kMostFields) + " fields");
      }
      fields.push_back(field());
    } while (take(','));
    take('\r');
    if (take('\n')) ++line_;
    return fields;
  }

 private:
  bool take(char wanted) {
    if (done() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  std::string field() {
    if (take('"')) return quoted();
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string value(text_.substr(at_, end - at_));
    at_ = end;
    return value;
  }

  std::string quoted() {
    const std::size_t begin = line_;
    std::string value;
    while (!done()) {
      const char letter = text_[at_++];
      if (letter == '"' && !take('"')) return value;
      if (letter == '\n') ++line_;
      value += letter;
    }
    throw Error(file_name_ + ":" + std::to_string(begin) + ": a quote is never closed");
  }

  std::string_view text_;
  const std::string& file_name_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t fields_ = 0;
};

}  // namespace

CsvTable::CsvTable(std::string_view text, std::string file_name) : file_name_(std::move(file_name)) {
  CsvReader reader(text, file_name_);
  header_ = reader.row();
  while (!reader.done()) {
    lines_.push_back(reader.line());
    rows_.push_back(reader.row());
    if (rows_.back().size() == header_.size()) continue;
    throw Error(where(rows_.size() - 1) + ": " + std::to_string(rows_.back().size()) + " fields, expected " +
                std::to_string(header_.size()) + " as in the header");
  }
}

bool CsvTable::has(std::string_view column) const { return std::ranges::find(header_, column) != header_.end(); }

const std::string& CsvTable::cell(std::size_t row, std::string_view column) const {
  const auto at = std::ranges::find(header_, column);
  if (at == header_.end()) throw Error(file_name_ + ": has no column '" + std::string(column) + "'");
  return rows_[row][static_cast<std::size_t>(at - header_.begin())];
}

std::string CsvTable::where(std::size_t row) const { return file_name_ + ":" + std::to_string(lines_[row]); }

double CsvTable::number(std::size_t row, std::string_view column, double otherwise) const {
  const std::string& text = cell(row, column);
  return text.empty() ? otherwise : parse_real(text, where(row) + ": " + std::string(column));
}

std::int64_t CsvTable::whole(std::size_t row, std::string_view column, std::int64_t otherwise) const {
  const std::string& text = cell(row, column);
  return text.empty() ? otherwise : parse_whole(text, {.least = 0}, where(row) + ": " + std::string(column));
}

}  // namespace plumb
