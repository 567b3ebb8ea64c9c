#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "models/ground/file_kinds.hpp"
#include "models/ground/text_file.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

struct SystemRow {
  std::string system, here, test;
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// The rows of the page's table, without its head and its titles of kinds.
std::vector<SystemRow> system_rows(const std::string& page) {
  std::vector<SystemRow> rows;
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = std::min(page.find('\n', at), page.size());
    const std::string line = page.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("| ") || line.starts_with("| **") || line.starts_with("| system ")) continue;
    std::vector<std::string> cells;
    for (std::size_t from = 1; from < line.size();) {
      const std::size_t bar = std::min(line.find('|', from), line.size());
      cells.push_back(trimmed(line.substr(from, bar - from)));
      from = bar + 1;
    }
    if (cells.size() != 3) continue;  // a table of times
    rows.push_back({cells[0], cells[1], cells[2]});
  }
  return rows;
}

/// Letters and digits of `text` in small ones; all else is one dash.
std::string plain(const std::string& text) {
  std::string letters;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      letters += static_cast<char>(std::tolower(byte));
    } else if (!letters.ends_with('-')) {
      letters += '-';
    }
  }
  return letters;
}

/// What a test of the row may call it by: the first word of the system, and the schedules, rules, methods and options
/// that the row names (the last word of each piece of code).
std::vector<std::string> words_of_row(const SystemRow& row) {
  std::vector<std::string> words{plain(row.system.substr(0, row.system.find_first_of(" ,'")))};
  for (std::size_t at = row.here.find('`'); at != std::string::npos; at = row.here.find('`', at + 1)) {
    const std::size_t end = row.here.find('`', at + 1);
    if (end == std::string::npos) break;
    std::string code = row.here.substr(at + 1, end - at - 1);
    at = end;
    code = code.substr(0, code.find('='));
    std::string word = plain(code.substr(code.find_last_of(" .") + 1));
    if (word.starts_with('-')) word.erase(0, 1);
    if (word != "campaign" && word != "search") words.push_back(word);
  }
  return words;
}

bool mentions_any(const std::string& source, const std::vector<std::string>& words) {
  const std::string letters = plain(source);
  return std::ranges::any_of(words, [&](const std::string& word) { return letters.find(word) != std::string::npos; });
}

}  // namespace

TEST_CASE("every system of the page works and names a test that speaks of it, or is not here and says why") {
  const std::vector<SystemRow> rows =
      system_rows(read_text_file(in_source("schedules/catalogue/SYSTEMS.md"), kScheduleFile));
  CHECK(rows.size() == 59);
  for (const SystemRow& row : rows) {
    CAPTURE(row.system);
    if (row.here.empty()) {
      CHECK(row.test.starts_with("not here"));
      CHECK(row.test.find(": ") != std::string::npos);
      continue;
    }
    const std::size_t link = row.test.find("](../../tests/");
    REQUIRE(link != std::string::npos);
    const std::string path = row.test.substr(link + 8, row.test.find(')', link) - link - 8);
    CAPTURE(path);
    REQUIRE(std::filesystem::exists(in_source(path)));
    CHECK(mentions_any(read_text_file(in_source(path), kScheduleFile), words_of_row(row)));
  }
}

TEST_CASE("the page has every system that was asked for") {
  const std::string page = read_text_file(in_source("schedules/catalogue/SYSTEMS.md"), kScheduleFile);
  for (const char* system : {"STP",
                             "1f1b_overlap",
                             "interleave_overlap",
                             "Tessel",
                             "Koala",
                             "FlexPipe",
                             "OptPipe",
                             "Bamboo",
                             "Varuna",
                             "Oobleck",
                             "ReCycle",
                             "SlipStream",
                             "Parcae",
                             "GEMINI",
                             "ElasWave",
                             "SWARM",
                             "Petals",
                             "Ravnest",
                             "GreedW",
                             "Learning@home",
                             "vPipe",
                             "PipeTransformer",
                             "Egeria",
                             "Hydrozoa",
                             "mLoRA",
                             "LoRAPP",
                             "TSPipe",
                             "Saturn",
                             "Hydra",
                             "NASPipe",
                             "WeiPipe",
                             "TawPipe",
                             "ACCO",
                             "Baechi",
                             "OSDP",
                             "Whale",
                             "HPH",
                             "HexiScale",
                             "AutoDDL",
                             "Auto-MAP",
                             "DFModel",
                             "Helix",
                             "Yuan et al.",
                             "Hybrid parallel inference",
                             "Hippie",
                             "DawnPiper",
                             "Optimus-CC",
                             "AQ-SGD",
                             "MiCS",
                             "AMSP",
                             "FLUX",
                             "decomposition",
                             "Smart-Infinity",
                             "Prophet",
                             "NestPipe",
                             "BurstEngine",
                             "HeteroPP",
                             "HAPT",
                             "TPipe",
                             "BigMac"}) {
    CAPTURE(system);
    CHECK(page.find(system) != std::string::npos);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
