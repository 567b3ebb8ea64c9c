#include "tools/catalogue/schedule_page.hpp"

#include <doctest/doctest.h>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "models/ground/named_option.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/tables/text_timeline.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

bool contains_text(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("schedules/pages is what `plumbline schedules --pages` writes") {
  const ScratchDirectory scratch;
  REQUIRE(run_command("plumbline schedules --pages pages", scratch.path()).status == 0);
  const std::filesystem::path source = in_source("schedules/pages");
  const CommandResult difference = run_command("diff -r " + source.string() + " pages", scratch.path());
  INFO("./plumbline schedules --pages schedules/pages refreshes them");
  CAPTURE(difference.out);
  CHECK(difference.status == 0);
}

TEST_CASE("a page has every option of its schedule on a line of its own, where there is room") {
  REQUIRE(::setenv("COLUMNS", "1000", 1) == 0);
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    const std::string text = schedule_page_text(spec);
    for (const NamedOption& option : spec.all_options()) {
      CAPTURE(option.name);
      CHECK(!default_text(option).empty());
      CHECK(contains_text(text, "\n  " + std::string(option.name) + "=" + values_text(option) +
                                    " (default: " + default_text(option) + "): " + std::string(option.meaning) + "\n"));
    }
    CHECK(contains_text(text, "\nno options\n") == spec.all_options().empty());
  }
  ::unsetenv("COLUMNS");
}

TEST_CASE("a page explains the weights and the placement of its schedule") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    const std::string text = schedule_page_text(spec);
    CHECK(contains_text(text, "\nweights    " + std::string(spec.weights) + ": "));
    CHECK(contains_text(text, "\nplacement  " + std::string(spec.placement) + ": "));
  }
}

TEST_CASE("the example of every schedule is drawn action by action and is what its command prints") {
  const ScratchDirectory scratch;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    const ScheduleExample example = schedule_example(spec);
    CHECK(is_drawn_in_cells(example.timeline, kMostExampleColumns));
    const CommandResult printed =
        run_command("COLUMNS=" + std::to_string(kMostExampleColumns) + " plumbline " + example.command, scratch.path());
    CHECK(contains_text(printed.out, example.drawing));
  }
}

TEST_CASE("schedules prints the pages of the named schedules, in capital letters or small ones") {
  const ScratchDirectory scratch;
  const CommandResult pages = run_command("plumbline schedules ZB-V 1f1b", scratch.path());
  CHECK(pages.status == 0);
  CHECK(pages.out.starts_with("zb-v: "));
  CHECK(contains_text(pages.out, "\n\n\n1f1b: "));
  CHECK(run_command("plumbline schedules zb-v 1F1B", scratch.path()).out == pages.out);
  const std::string rest = " -p 2 -m 4 --cost F=1,B=2";
  CHECK(run_command("plumbline simulate 1F1B" + rest, scratch.path()).out ==
        run_command("plumbline simulate 1f1b" + rest, scratch.path()).out);
}

TEST_CASE("schedules proposes the nearest name for one that it does not know") {
  const CommandResult result = run_command("plumbline schedules ZB-W", in_source(""));
  CHECK(result.status == 2);
  CHECK(contains_text(result.err, "unknown schedule 'zb-w' (did you mean 'zb-v'?)"));
}

TEST_CASE("the JSON catalogue has every option as an object") {
  const auto rows = nlohmann::json::parse(run_command("plumbline schedules --json kfkb", in_source("")).out);
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].at("option_list").size() == 2);
  CHECK(rows[0].at("option_list")[0].at("name") == "k");
  CHECK(rows[0].at("option_list")[0].at("values") == "K|auto");
  CHECK(rows[0].at("option_list")[0].at("default") == "2");
  CHECK(rows[0].at("option_list")[1].at("name") == "shares");  // as every schedule that flushes
}

TEST_CASE("the option that every schedule that flushes has is on its page, and on no other one") {
  CHECK(contains_text(schedule_page_text(schedule_named("zb-h1")), "\n  shares=M-M-... (default: one pipeline): "));
  CHECK(contains_text(schedule_page_markdown(schedule_named("gems")), "\n| `shares` | `M-M-...` | one pipeline | "));
  CHECK(!contains_text(schedule_page_text(schedule_named("pipedream")), "shares="));
  CHECK(!contains_text(schedule_page_text(schedule_named("terapipe")), "shares="));
}

}  // namespace plumb::testing

TEST_SUITE_END();
