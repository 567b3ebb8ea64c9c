#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/source_directory.hpp"
#include "tests/support/text_sum.hpp"

namespace plumb::testing {

/// What a reader makes of a text, written down; it may throw `Error`.
using ReadAndWrite = std::function<std::string(const std::string&)>;

/// Calls `visit` with the text, and with what becomes of it by an edit of one letter: left out, twice, another one, or
/// everything from there on cut off. So many places are edited at most.
inline void for_each_edit_of(const std::string& text, std::size_t places,
                             const std::function<void(const std::string&)>& visit) {
  visit(text);
  const std::size_t step = 1 + text.size() / places;
  for (std::size_t at = 0; at < text.size(); at += step) {
    visit(text.substr(0, at));
    visit(text.substr(0, at) + text.substr(at + 1));
    visit(text.substr(0, at + 1) + text.substr(at));
    std::string edited = text;
    edited[at] = "07x-"[at / step % 4];
    visit(edited);
  }
}

/// A line for every file of the reader's corpus (tests/fuzz/corpus): how many edits are read, and the sum of what is
/// written or refused.
inline std::string corpus_lines(const std::string& reader, const ReadAndWrite& read, std::size_t places = 60) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(in_source("tests/fuzz/corpus/" + reader))) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::string lines;
  for (const std::filesystem::path& file : files) {
    TextSum sum;
    int good = 0;
    for_each_edit_of(read_text_file(file), places, [&](const std::string& text) {
      try {
        sum.add(read(text));
        ++good;
      } catch (const Error& error) {
        sum.add(error.what());
      }
    });
    lines += reader + "/" + file.filename().string() + ": " + std::to_string(good) + " read, " + sum.text() + "\n";
  }
  return lines;
}

/// Checks that every line of the golden file is among `lines`: a corpus may grow meanwhile.
inline void check_corpus_lines(const std::string& lines, const std::string& file) {
  std::istringstream known(golden(file, lines));
  std::size_t count = 0;
  for (std::string line; std::getline(known, line); ++count) {
    CAPTURE(line);
    CHECK(lines.find(line + "\n") != std::string::npos);
  }
  CHECK(count > 0);
}

}  // namespace plumb::testing
