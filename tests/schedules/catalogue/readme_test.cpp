#include <doctest/doctest.h>

#include <string>

#include "models/ground/text_file.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

std::string readme() { return read_text_file(plumb::testing::in_source("schedules/README.md")); }

/// What stands between "```<kind>" and "```", the first time behind `from`.
std::string block(const std::string& text, const std::string& kind, std::size_t from) {
  const std::size_t begin = text.find("```" + kind + "\n", from) + kind.size() + 4;
  return text.substr(begin, text.find("```", begin) - begin);
}

std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
  return " " + escaped + (escaped.empty() ? "|" : " |");
}

}  // namespace

TEST_CASE("the catalogue in schedules/README.md is that of the program") {
  std::string table =
      "| name | what | source | year | updates | weights | placement | needs | options "
      "|\n|---|---|---|---|---|---|---|---|---|\n";
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    table += "|" + cell("`" + std::string(spec.name) + "`") + cell(spec.summary) + cell(spec.source) +
             cell(std::to_string(spec.year)) + cell(spec.synchronous ? "synchronous" : "asynchronous") +
             cell(spec.weights) + cell(spec.placement) + cell(spec.needs) + cell(spec.options) + "\n";
  }
  INFO(table);
  CHECK(readme().find("\n" + table + "\n") != std::string::npos);
}

TEST_CASE("the worked example of schedules/README.md is valid and says what stands below it") {
  const std::string text = readme();
  const std::size_t section = text.find("## The document");
  const Schedule schedule = schedule_from_json(block(text, "json", section), "schedules/README.md");
  CHECK(validate(schedule).empty());
  CHECK(schedule_to_text(schedule) == block(text, "", text.find("unfolded:", section)));
}

}  // namespace plumb::testing

TEST_SUITE_END();
