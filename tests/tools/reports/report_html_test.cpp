#include "tools/reports/report_html.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "models/ground/error.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/synthetic_timeline.hpp"
#include "tools/reports/page_data.hpp"
#include "tools/reports/report_svg.hpp"
#include "tools/reports/report_trace.hpp"
#include "tools/reports/reports.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

using testing::golden;
using testing::synthetic_timeline;

using Json = nlohmann::json;

TEST_CASE("the page's data of two devices and two microbatches is the reviewed one") {
  const Timeline run = synthetic_timeline({.devices = 2, .microbatches = 2, .transfer_ns = 250'000});
  const std::string data = page_data({.title = "two by two", .sections = {{.title = "1f1b", .first = &run}}});
  const std::string pretty = Json::parse(data).dump(1) + "\n";
  CHECK(pretty == golden("reports/two_by_two.page.json", pretty));
}

TEST_CASE("the columns of the page's data give back every span") {
  const Timeline run = synthetic_timeline({.devices = 3, .microbatches = 5, .transfer_ns = 70, .noise = 0.2});
  const Json page = Json::parse(page_data({.title = "", .sections = {{.title = "", .first = &run}}}));
  const Json& data = page.at("sections").at(0).at("runs").at(0);
  std::size_t spans = 0;
  for (const Json& row : data.at("rows")) {
    std::int64_t start = 0;
    for (std::size_t i = 0; i < row.at("start").size(); ++i, ++spans) {
      start += row.at("start").at(i).get<std::int64_t>();
      const Json& action = data.at("actions").at(row.at("action").at(i).get<std::size_t>());
      bool found = false;
      for (const Span& span : run.spans) {
        found = found || (index(span.device) == row.at("device") && static_cast<int>(span.action.op) == action.at(0) &&
                          static_cast<int>(span.action.microbatch) == row.at("microbatch").at(i) &&
                          span.start == start && span.end - span.start == row.at("length").at(i));
      }
      CHECK(found);
    }
  }
  CHECK(spans == run.spans.size());
}

TEST_CASE("what a device loses to others stands in the page's data where there is any, and in the picture's head") {
  Timeline run = synthetic_timeline({.devices = 2, .microbatches = 2});
  const auto devices = [&] {
    const Json page = Json::parse(page_data({.title = "", .sections = {{.title = "", .first = &run}}}));
    return page.at("sections").at(0).at("runs").at(0).at("devices");
  };
  CHECK_FALSE(devices().at(0).contains("slowed"));
  CHECK(svg_report(run).find("slowdown by others") == std::string::npos);
  run.devices[1].slowed = (run.devices[0].busy + run.devices[1].busy) / 10;
  CHECK_FALSE(devices().at(0).contains("slowed"));
  CHECK(devices().at(1).at("slowed") == to_ns(run.devices[1].slowed, run.base));
  const std::string picture = svg_report(run);
  CHECK(picture.find(">slowdown by others<") != std::string::npos);
  CHECK(picture.find(">10.0 %<") != std::string::npos);
}

TEST_CASE("a page is one file: nothing is fetched and no placeholder is left") {
  const Timeline run = synthetic_timeline({.devices = 2, .microbatches = 2});
  const std::string page = html_report({.title = "t", .sections = {{.title = "1f1b", .first = &run}}});
  for (const char* part :
       {"<link rel=\"stylesheet\"", "<script src", "@import", "url(http", "%DATA%", "%STYLE%", "%SCRIPT%"}) {
    CAPTURE(part);
    CHECK(page.find(part) == std::string::npos);
  }
  CHECK(page.ends_with("</html>\n"));
}

TEST_CASE("no text of a run can leave the page's data") {
  const Timeline run =
      synthetic_timeline({.name = "</script><script>alert(1)</script>", .devices = 1, .microbatches = 1});
  const std::string data = page_data({.title = "<!--", .sections = {{.title = "", .first = &run}}});
  CHECK(data.find('<') == std::string::npos);
  CHECK(Json::parse(data).at("title") == "<!--");
}

TEST_CASE("a page of two runs holds both, and the same input gives the same bytes") {
  const Timeline predicted = synthetic_timeline({});
  const Timeline measured = synthetic_timeline({.noise = 0.1, .kind = Timeline::Kind::kMeasured});
  const HtmlReport report{.title = "t", .sections = {{.title = "1f1b", .first = &predicted, .second = &measured}}};
  const Json page = Json::parse(page_data(report));
  CHECK(page.at("sections").at(0).at("runs").at(0).at("kind") == "simulated");
  CHECK(page.at("sections").at(0).at("runs").at(1).at("kind") == "measured");
  CHECK(html_report(report) == html_report(report));
}

TEST_CASE("more than a browser or a viewer holds is refused in one line") {
  Timeline run = synthetic_timeline({});
  run.memory.points.assign(4'000'001 - run.spans.size(), {0, MemoryClass::kWeights, 0});
  CHECK_THROWS_WITH_AS(html_report({.title = "", .sections = {{.title = "", .first = &run}}}),
                       "HTML report: 4000001 spans and memory changes, expected at most 4000000 (fewer microbatches or "
                       "devices, or --summary)",
                       Error);
  CHECK_THROWS_WITH_AS(
      in_one_piece(trace_report, run),
      "trace: 4000001 spans and memory changes, expected at most 4000000 (fewer microbatches or devices, "
      "or --csv)",
      Error);
}

TEST_CASE("every format of the table makes a file of any timeline") {
  const Timeline run = synthetic_timeline({.devices = 2, .microbatches = 3});
  for (const ReportFormat& format : report_formats()) {
    CAPTURE(format.name);
    CHECK_FALSE(format.make({.steps = {&run, 1}}).empty());
  }
}

TEST_CASE("a page of a run with several steps has a section for each, and shows the chosen one") {
  const std::vector<Timeline> steps(30, synthetic_timeline({.devices = 2, .microbatches = 3}));
  const auto format = std::ranges::find(report_formats(), "html", &ReportFormat::name);
  const auto choices = [](const std::string& page) {
    const std::size_t data = page.find("\"sections\"");
    std::vector<std::string> names;
    for (std::size_t at = page.find("\"choice\":\"", data); at != std::string::npos;
         at = page.find("\"choice\":\"", at + 1)) {
      names.push_back(page.substr(at + 10, page.find('"', at + 10) - at - 10));
    }
    return names;
  };
  CHECK(choices(format->make({.steps = {steps.data(), 3}, .shown = 1})) ==
        std::vector<std::string>{"step 0", "step 1", "step 2"});
  CHECK(choices(format->make({.steps = {steps.data(), 1}})) == std::vector<std::string>{""});
  const std::vector<std::string> last = choices(format->make({.steps = steps, .shown = 29}));
  CHECK(last.size() == 24);
  CHECK(last.back() == "step 29");
  const std::vector<std::string> middle = choices(format->make({.steps = steps, .shown = 15}));
  CHECK(middle.size() == 24);
  CHECK(middle.front() == "step 3");
}

}  // namespace
}  // namespace plumb

TEST_SUITE_END();
