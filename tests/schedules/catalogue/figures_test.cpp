#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/phases/whole_expression.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

constexpr UnitTimes kFigureTimes{.f = 2, .b = 5, .i = 3, .w = 2};

/// A line of figures.txt.
struct ExpectedFigures {
  std::string name;
  std::string makespan;
  std::string kept;
};

std::vector<ExpectedFigures> expected_figures() {
  std::vector<ExpectedFigures> all;
  std::istringstream lines{read_text_file(in_source("tests/schedules/catalogue/figures.txt"))};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t colon = line.find(": ");
    const std::size_t semicolon = line.find("; ");
    REQUIRE_MESSAGE(semicolon != std::string::npos, line, ": expected NAME: MAKESPAN; KEPT");
    all.push_back({line.substr(0, colon), line.substr(colon + 2, semicolon - colon - 2), line.substr(semicolon + 2)});
  }
  return all;
}

/// Whether the schedule has what the line says at these sizes; false where it does not take them.
bool has_figures(const ExpectedFigures& line, const ScheduleParams& params) {
  Schedule schedule;
  try {
    schedule = generate(line.name, params);
  } catch (const Error&) {
    return false;
  }
  WholeNames names{
      {"p", params.num_devices}, {"m", params.num_microbatches}, {"v", schedule.num_stages / params.num_devices},
      {"f", kFigureTimes.f},     {"b", kFigureTimes.b},          {"i", kFigureTimes.i},
      {"w", kFigureTimes.w}};
  CHECK(replay(schedule, kFigureTimes).makespan == whole_value(line.makespan, names, line.name));
  const std::vector<std::int64_t> peaks = peak_stashes(schedule);
  for (std::size_t d = 0; d < peaks.size(); ++d) {
    names.set("d", static_cast<std::int64_t>(d));
    CHECK(peaks[d] == whole_value(line.kept, names, line.name));
  }
  return true;
}

/// NAME_test.cpp in the folder of any group.
bool has_test_of_its_own(std::string name) {
  std::ranges::replace(name, '-', '_');
  const std::filesystem::path folder = in_source("tests/schedules/catalogue");
  return std::ranges::any_of(std::filesystem::directory_iterator(folder), [&](const auto& group) {
    return std::filesystem::exists(group.path() / (name + "_test.cpp"));
  });
}

}  // namespace

TEST_CASE("schedules take as long and keep as much as their lines of figures say, at every size") {
  for (const ExpectedFigures& line : expected_figures()) {
    CAPTURE(line.name);
    int tried = 0;
    for (const std::int32_t p : {1, 2, 3, 4, 8}) {
      for (const std::int64_t m : {1, 2, 4, 7, 16, 24}) {
        CAPTURE(p);
        CAPTURE(m);
        tried += has_figures(line, {.num_devices = p, .num_microbatches = m}) ? 1 : 0;
      }
    }
    CHECK(tried >= 5);
  }
}

TEST_CASE("the picture of a schedule that has figures and no test of its own is the one in tests/golden") {
  for (const ExpectedFigures& line : expected_figures()) {
    if (has_test_of_its_own(line.name) || line.name.starts_with("torch-")) continue;  // drawn there, or beside theirs
    CAPTURE(line.name);
    std::string file = "schedules/" + line.name + ".txt";
    std::ranges::replace(file, '-', '_');
    const std::string actual = picture(generate(line.name, {.num_devices = 4, .num_microbatches = 8}), {});
    CHECK(actual == golden(file, actual));
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
