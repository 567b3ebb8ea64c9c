#include <doctest/doctest.h>

#include <string>

#include "models/ground/text_file.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

std::string catalogue_page() { return read_text_file(plumb::testing::in_source("schedules/catalogue/CATALOGUE.md")); }

std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
  return " " + escaped + (escaped.empty() ? "|" : " |");
}

}  // namespace

TEST_CASE("the catalogue in schedules/catalogue/CATALOGUE.md is that of the program") {
  std::string table =
      "| name | what | source | year | updates | weights | placement | needs | options "
      "|\n|---|---|---|---|---|---|---|---|---|\n";
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    table += "|" + cell("`" + std::string(spec.name) + "`") + cell(spec.summary) + cell(spec.source) +
             cell(std::to_string(spec.year)) + cell(spec.synchronous ? "synchronous" : "asynchronous") +
             cell(spec.weights) + cell(spec.placement) + cell(spec.needs) + cell(spec.options) + "\n";
  }
  INFO(table);
  CHECK(catalogue_page().find("\n" + table + "\n") != std::string::npos);
}

}  // namespace plumb::testing

TEST_SUITE_END();
