#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/program/list_times.hpp"
#include "tests/support/half_stash_peak.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

constexpr const char* kTable = "results/search/table.csv";

/// A row of the table: what results/search/authors.py prints, and our span after it.
struct AuthorsRow {
  std::string text{};  ///< without ours
  std::string what;    ///< without "/10", which says that all times are tenths: theirs were rounded, ours are whole
  std::int32_t p = 0;
  std::int64_t m = 0;
  StageCosts costs{};
  std::int64_t limit = 0;
  Ticks theirs = 0;
  std::int64_t their_peak = 0;
  std::string ours{};  ///< as recorded; empty: not yet
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

/// One for all stages, or one each.
Ticks of_stage(const std::string& text, std::size_t stage) {
  const std::vector<std::string> each = split(text, '/');
  return std::stoll(each[each.size() == 1 ? 0 : stage]);
}

AuthorsRow parse_row(const std::string& line) {
  const std::vector<std::string> cells = split(line, ',');
  REQUIRE(cells.size() >= 10);
  AuthorsRow row{.what = cells[0].substr(0, cells[0].find('/')),
                 .p = std::stoi(cells[1]),
                 .m = std::stoll(cells[2]),
                 .limit = std::stoll(cells[7]),
                 .theirs = std::stoll(cells[8]),
                 .their_peak = std::stoll(cells[9])};
  for (std::size_t k = 0; k < 10; ++k) row.text += (k == 0 ? "" : ",") + cells[k];
  if (cells.size() > 10) row.ours = cells[10];
  StageMemory memory;
  memory.stash = {{"for I", 1, StashTensor::MadeBy::kForward, LastUse::kInputGrad},
                  {"for W", 1, StashTensor::MadeBy::kForward, LastUse::kWeightGrad}};
  const std::size_t stages = static_cast<std::size_t>(row.p) * (row.what == "zb" ? 1 : 2);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    StageTimes times;
    times.f = of_stage(cells[3], stage);
    times.i = of_stage(cells[4], stage);
    times.w = of_stage(cells[5], stage);
    times.b = times.i + times.w;
    row.costs.times.push_back(times);
    row.costs.memory.push_back(memory);
  }
  row.costs.comm = std::stoll(cells[6]);
  return row;
}

Schedule scheduled(const AuthorsRow& row) {
  ScheduleParams params{.num_devices = row.p,
                        .num_microbatches = row.m,
                        .costs = [&](std::int32_t) { return row.costs; },
                        .memory_limit = static_cast<double>(row.limit)};
  if (row.what == "zb-v") params.options["order"] = "search";
  return generate(row.what == "zb" ? "zb-auto" : row.what, params);
}

/// Longest time from a device's first to its last pass.
Ticks span_of(const Schedule& schedule, const StageCosts& costs) {
  const auto duration = [&](const Action& action) {
    const StageTimes& times = costs.times[index(action.stage)];
    return action.op == Op::kF ? times.f : action.op == Op::kI ? times.i : action.op == Op::kW ? times.w : Ticks{0};
  };
  Ticks longest = 0;
  for (const auto& spans : list_times(schedule, duration, *costs.comm).devices) {
    longest = std::max(longest, spans.back().end - spans.front().start);
  }
  return longest;
}

}  // namespace

TEST_CASE("no order is longer than that of the authors' scheduler in the same memory (results/search)") {
  constexpr std::int64_t kQuick = 64;  // microbatches on all devices
  const bool update = std::getenv("PLUMB_UPDATE_GOLDEN") != nullptr;
  std::ifstream file(in_source(kTable));
  std::string line;
  std::getline(file, line);
  std::string table = "what,p,m,f,i,w,comm,limit,span,peak,ours\n";
  int compared = 0;
  int tenths = 0;
  while (std::getline(file, line)) {
    const AuthorsRow row = parse_row(line);
    if (!update && row.p * row.m > kQuick) continue;
    CAPTURE(row.text);
    const Schedule schedule = scheduled(row);
    const Ticks ours = span_of(schedule, row.costs);
    ++compared;
    tenths += line.starts_with("zb/10,") || line.starts_with("zb-v/10,") ? 1 : 0;
    table += row.text + "," + std::to_string(ours) + "\n";
    const bool same_memory = row.limit == 0 || row.their_peak <= row.limit;
    if (row.limit > 0) CHECK(half_stash_peak(schedule) <= row.limit);
    if (same_memory) CHECK(ours <= row.theirs);
    if (!update) CHECK(std::to_string(ours) == row.ours);
  }
  CHECK(compared >= 380);
  CHECK(tenths == 80);
  file.close();
  if (update) std::ofstream(in_source(kTable), std::ios::binary) << table;
}

}  // namespace plumb::testing

TEST_SUITE_END();
