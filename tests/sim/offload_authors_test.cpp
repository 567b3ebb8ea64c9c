#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

constexpr const char* kOffloadTable = "results/search/offload.csv";

struct Offloaded {
  std::int64_t peak = 0;  ///< chunks that the fullest device keeps
  std::int64_t span = 0;  ///< in units of F
};

/// What is simulated with a row of the table: devices, microbatches, chunks, group, offloaded chunks, time of a copy.
Offloaded offloaded(const std::vector<std::string>& cells) {
  const auto p = static_cast<std::int32_t>(std::stoi(cells[0]));
  const auto v = static_cast<std::int32_t>(std::stoi(cells[2]));
  std::ostringstream copy;
  copy << 3 * std::stod(cells[5]);
  const StageCosts costs =
      abstract_costs("F=1,I=1,W=1,EVICT=" + copy.str() + ",LOAD=" + copy.str(), "", {.num_stages = p * v});
  const Schedule schedule = generate("pipeoffload", {.num_devices = p,
                                                     .num_microbatches = std::stoll(cells[1]),
                                                     .chunks = v,
                                                     .options = {{"group", cells[3]}, {"offload", cells[4]}},
                                                     .costs = [&](std::int32_t) { return costs; }});
  const Timeline timeline = simulate(lower(schedule, costs));
  Offloaded found;
  for (const DeviceSummary& device : timeline.devices) {
    found.peak = std::max(found.peak, static_cast<std::int64_t>(device.peak_activations));
  }
  found.span = timeline.makespan / 1'000'000 / timeline.base.ticks_per_ns;
  return found;
}

}  // namespace

TEST_CASE("pipeoffload keeps no more and takes no longer than the released scheduler (results/search)") {
  constexpr std::int64_t kQuick = 64;  // microbatches on all devices
  const bool update = std::getenv("PLUMB_UPDATE_GOLDEN") != nullptr;
  std::ifstream file(testing::in_source(kOffloadTable));
  std::string line;
  std::getline(file, line);
  std::string table = "p,m,v,group,offload,copy,peak,span,our_peak,our_span\n";
  int compared = 0;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    REQUIRE(cells.size() >= 8);
    if (!update && std::stoll(cells[0]) * std::stoll(cells[1]) > kQuick) continue;
    CAPTURE(line);
    const Offloaded ours = offloaded(cells);
    ++compared;
    CHECK(ours.peak <= std::stoll(cells[6]));
    CHECK(ours.span <= std::stoll(cells[7]));
    cells.resize(8);
    cells.insert(cells.end(), {std::to_string(ours.peak), std::to_string(ours.span)});
    std::string row;
    for (const std::string& cell : cells) row += (row.empty() ? "" : ",") + cell;
    if (!update) CHECK(row == line);
    table += row + "\n";
  }
  CHECK(compared >= 100);
  file.close();
  if (update) std::ofstream(testing::in_source(kOffloadTable), std::ios::binary) << table;
}

}  // namespace plumb

TEST_SUITE_END();
