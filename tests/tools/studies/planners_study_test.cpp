#include <set>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/text_file.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/studies/planners_study.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb;

std::vector<PlannerCase> cases() {
  const std::string path = plumb::testing::in_source("results/planners/cases.json");
  return planner_cases(read_text_file(path), path);
}

}  // namespace

TEST_CASE("a case of a published planner is planned by its command, and holds when ours is no worse and soon enough") {
  std::set<std::string> ids;
  for (const PlannerCase& one : cases()) {
    CAPTURE(one.id);
    CHECK(ids.insert(one.id).second);
    CHECK(one.command.starts_with("plan --method "));
    if (one.id != "dnn-bert24" && one.id != "vgg16-16") continue;
    PlannerResult result = run_planner_case(one);
    CHECK(result.proved);
    CHECK((result.baseline_ms.has_value() || one.published_ms.has_value()));
    result.seconds = 0;
    CHECK(result.holds());
    result.ours_ms += 0.01;
    CHECK_FALSE(result.holds());
  }
  PlannerResult slow{{"slow", "", "", "", {}, 10.0, ""}, 1, {}, 1.5, 1, true};
  CHECK_FALSE(slow.holds());
  slow.seconds = 0.9;
  CHECK(slow.holds());
}

TEST_CASE("a case with a key that is not known is refused with its place") {
  CHECK(plumb::testing::error_message([] { planner_cases(R"([{"id": "x", "sauce": ""}])", "c.json"); }).find("[0]") !=
        std::string::npos);
}
