#include "tools/stability/stability_study.hpp"

#include <cmath>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "tools/reports/plot_svg.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

StabilityStudy small_stability_study(std::int64_t iterations = 0) {
  return study_stability({.sensitivity = 3}, {parse_stability_method("naive"), parse_stability_method("t1+t2")}, {3, 7},
                         0.1, iterations);
}

}  // namespace

TEST_CASE("words of a stability method compose, others are refused with the nearest") {
  const DelayedQuadratic problem = parse_stability_method("t1+t2+momentum").problem({}, 7);
  CHECK(problem.momentum == 0.9);
  CHECK(problem.sensitivity == 5);
  CHECK(*problem.gamma == doctest::Approx(0.75));
  CHECK(parse_stability_method("t1+t2").rate_factor(7) == 7);
  CHECK(parse_stability_method("t1").rate_factor(0) == 1);
  CHECK(parse_stability_method("delay").problem({}, 7).sensitivity == 0);
  CHECK(parse_stability_method("recompute").problem({}, 7).tau_recomp == 3);
  CHECK_THROWS_WITH_AS(parse_stability_method("naive+t3"), doctest::Contains("t3"), Error);
}

TEST_CASE("T1 allows a base rate tau times as large as without it") {
  const StabilityStudy study =
      study_stability({}, {parse_stability_method("naive"), parse_stability_method("naive+t1")}, {2, 9}, {}, 0);
  for (std::size_t i = 0; i < study.taus.size(); ++i) {
    CHECK(*study.curves[1].by_roots[i] == doctest::Approx(study.taus[i] * *study.curves[0].by_roots[i]));
  }
}

TEST_CASE("a stability document holds the published limits, found in two ways") {
  const auto json = nlohmann::json::parse(stability_json(small_stability_study(4000)));
  CHECK(json["format"] == "plumbline-stability");
  CHECK(json["methods"][0]["largest_stable_rate"][0].get<double>() == doctest::Approx(0.088369).epsilon(1e-5));
  CHECK(json["methods"][0]["by_iterating"][1].get<double>() == doctest::Approx(0.038525).epsilon(2e-3));
  CHECK(json["methods"][1]["largest_stable_rate"][1].get<double>() == doctest::Approx(7 * 0.156448).epsilon(1e-5));
}

TEST_CASE("a plot leaves gaps for what is no number and refuses to be empty") {
  Plot plot{.title = "a < b", .note = "", .x = {"x"}, .y = {"y", true}, .series = {}, .marks = {}};
  plot.series.push_back({.name = "one", .x = {0, 1, 2, 3, 4}, .y = {1, 10, std::nan(""), 100, 0}});
  const std::string svg = svg_plot(plot);
  CHECK(svg.find("a &lt; b") != std::string::npos);
  CHECK(svg.find("M88 ") != std::string::npos);  // the first value lies on the left edge
  std::size_t lines = 0;
  for (auto at = svg.find("stroke-linejoin"); at != std::string::npos; at = svg.find("stroke-linejoin", at + 1))
    ++lines;
  CHECK(lines == 2);  // before and after the gap; 0 has no logarithm
  plot.series[0].y = {0, 0, 0, 0, 0};
  CHECK_THROWS_AS(svg_plot(plot), Error);
}

TEST_CASE("the page of diagrams holds its data, safe to stand in HTML") {
  PlotPage page = stability_page(small_stability_study());
  page.title = "</script>";
  const std::string html = html_plots(page);
  CHECK(html.find("\"name\":\"t1+t2\"") != std::string::npos);
  CHECK(html.find("\\u003c/script>") != std::string::npos);
}

}  // namespace plumb

TEST_SUITE_END();
