#include <string>

#include <doctest/doctest.h>

#include "models/ground/text_file.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// What stands between "```<kind>" and "```", the first time after `from`.
std::string block(const std::string& text, const std::string& kind, std::size_t from) {
  const std::size_t begin = text.find("```" + kind + "\n", from) + kind.size() + 4;
  return text.substr(begin, text.find("```", begin) - begin);
}

}  // namespace

TEST_CASE("the worked example of schedules/document/FORMAT.md is valid and says what stands below it") {
  const std::string text = read_text_file(in_source("schedules/document/FORMAT.md"));
  const std::size_t section = text.find("## The document");
  const Schedule schedule = schedule_from_json(block(text, "json", section), "schedules/document/FORMAT.md");
  CHECK(validate(schedule).empty());
  CHECK(schedule_to_text(schedule) == block(text, "", text.find("unfolded", section)));
}

}  // namespace plumb::testing

TEST_SUITE_END();
