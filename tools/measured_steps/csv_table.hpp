#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// A table with a header line (RFC 4180: fields in quotes may hold commas, quotes doubled, line feeds).
class CsvTable {
 public:
  /// Throws `Error` ("file:line: ...") for open quotes and rows of another width than the header.
  CsvTable(std::string_view text, std::string file_name);

  std::size_t size() const { return rows_.size(); }
  bool has(std::string_view column) const;
  /// Returns the cell of `row` under `column`; throws `Error` when there is no such column.
  const std::string& cell(std::size_t row, std::string_view column) const;
  const std::vector<std::string>& header() const { return header_; }
  /// "file:line" where `row` begins.
  std::string where(std::size_t row) const;

  /// Returns the number of a cell, or `otherwise` where it is empty. Throws `Error` with place and column for anything
  /// else.
  double number(std::size_t row, std::string_view column, double otherwise = 0) const;
  std::int64_t whole(std::size_t row, std::string_view column, std::int64_t otherwise = 0) const;

 private:
  std::string file_name_;
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> lines_;
};

}  // namespace plumb
