#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/text_file.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "sim/traces/readers/trace_files.hpp"
#include "sim/traces/traced_run.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

/// A run of tools/examples/pytorch/run_schedule.py: its order, its traces, and its steps by the ranks' own clocks.
struct ExampleRun {
  std::string folder;
  std::vector<double> own_step_ms;  ///< `traced_step_ns` of its result.json
};

const std::vector<ExampleRun> kExampleRuns{{"example-hanayo", {151.852142, 154.852623}},
                                           {"example-1f1b", {198.307584, 196.931379}},
                                           {"example-zb-h1", {37.209736}}};

std::string file_of(const ExampleRun& run, const std::string& name) {
  return testing::in_source("tests/sim/traces/data/" + run.folder + "/" + name);
}

Schedule order_of(const ExampleRun& run) {
  const std::string path = file_of(run, "order.csv");
  return schedule_from_torch_csv(read_text_file(path), path);
}

std::vector<TraceFile> traces_of(const ExampleRun& run) {
  std::vector<TraceFile> files;
  for (std::int32_t rank = 0; rank < order_of(run).num_devices; ++rank) {
    const std::string name = "rank" + std::to_string(rank) + ".json.gz";
    files.push_back({name, read_text_file(file_of(run, name))});
  }
  return files;
}

std::string compute_text(const DeviceList& list) {
  std::string text;
  walk(list, [&](const Action& action) {
    if (is_compute(action.op)) append_text(text, action), text += ' ';
  });
  return text;
}

}  // namespace

TEST_CASE("what a traced rank did in every step is its line of the file that PyTorch was given") {
  for (const ExampleRun& run : kExampleRuns) {
    CAPTURE(run.folder);
    const Schedule order = order_of(run);
    std::vector<TraceFile> files = traces_of(run);
    unpack(files);
    for (const RankRun& rank : read_rank_runs(std::move(files))) {
      CHECK(rank.steps == std::ssize(run.own_step_ms));
      std::map<std::int32_t, std::string> steps;
      for (const TracedAction& work : rank.work) append_text(steps[work.step], work.action), steps[work.step] += ' ';
      for (const auto& [step, text] : steps) {
        CHECK(text == compute_text(order.devices[static_cast<std::size_t>(rank.rank)]));
      }
    }
  }
}

TEST_CASE("the steps of an example's run are a little shorter than by the clocks of its ranks, which begin earlier") {
  for (const ExampleRun& run : kExampleRuns) {
    CAPTURE(run.folder);
    const TracedRun traced = read_traced_run(traces_of(run));
    REQUIRE(traced.step_ns.size() == run.own_step_ms.size());
    for (std::size_t step = 0; step < traced.step_ns.size(); ++step) {
      const double ms = static_cast<double>(traced.step_ns[step]) / 1e6;
      CHECK(ms < run.own_step_ms[step]);
      CHECK(ms > 0.97 * run.own_step_ms[step]);
    }
    CHECK(traced.timeline().num_microbatches == order_of(run).num_microbatches);
    for (const DeviceSummary& device : traced.timeline().devices) {
      CHECK(device.busy + device.idle == traced.timeline().makespan);
      CHECK(std::accumulate(device.idle_causes.begin(), device.idle_causes.end(), Ticks{0}) == device.idle);
    }
  }
}
