#include <doctest/doctest.h>

#include <algorithm>
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

}  // namespace

TEST_CASE("every system of the page works and names its test, or is not here and says why") {
  const std::vector<SystemRow> rows =
      system_rows(read_text_file(in_source("schedules/catalogue/SYSTEMS.md"), kScheduleFile));
  CHECK(rows.size() == 52);
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
    CHECK(std::filesystem::exists(in_source(path)));
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
                             "Prophet"}) {
    CAPTURE(system);
    CHECK(page.find(system) != std::string::npos);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
