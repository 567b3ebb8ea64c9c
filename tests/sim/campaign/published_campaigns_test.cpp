#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "models/ground/error.hpp"
#include "models/ground/presets.hpp"
#include "sim/campaign/campaign.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

std::string preset_text(std::span<const Preset> presets, std::string_view name) {
  return std::string(std::ranges::find(presets, name, &Preset::name)->json);
}

NodeTrace preset_trace(const std::string& name) {
  return node_trace_from_text(preset_text(trace_presets(), name), name);
}

LayoutTable preset_layouts(const std::string& name) {
  return LayoutTable(layouts_from_json(preset_text(layout_presets(), name), name));
}

std::int64_t sum_of_times(const CampaignResult& result) {
  return std::accumulate(result.time_ns.begin(), result.time_ns.end(), std::int64_t{0});
}

/// A row of what the released simulation prints on its own traces, its ties broken by the order of posting.
struct BambooRow {
  const char* trace;
  double hours;
  const char* model;
  const char* local;  ///< seconds of a meeting after a step
  std::int64_t steps, removals, fatal, meetings;
  double nodes, samples_per_s;
};

}  // namespace

TEST_CASE("bamboo's released simulation: steps, fatal failures, meetings and nodes of eight rows to the last digit") {
  for (const BambooRow& row : {BambooRow{"bamboo-p3", 12, "bamboo-gpt2", "20", 28038, 167, 8, 77, 25.748, 24.666},
                               BambooRow{"bamboo-p3", 12, "bamboo-bert", "20", 10791, 167, 8, 77, 25.759, 78.370},
                               BambooRow{"bamboo-p3", 12, "bamboo-resnet", "10", 13975, 167, 11, 106, 23.288, 124.439},
                               BambooRow{"bamboo-p3", 10, "bamboo-gpt2", "20", 27680, 159, 6, 74, 25.368, 24.656},
                               BambooRow{"bamboo-g4dn", 10, "bamboo-gpt2", "20", 16235, 62, 1, 44, 12.607, 14.707},
                               BambooRow{"bamboo-g4dn", 10, "bamboo-resnet", "10", 6500, 62, 5, 51, 12.607, 70.660},
                               BambooRow{"bamboo-g4dn", 10, "bamboo-gnmt", "10", 16362, 62, 2, 47, 12.607, 133.399},
                               BambooRow{"bamboo-g4dn", 10, "bamboo-vgg", "5", 5554, 62, 2, 47, 12.607, 60.376}}) {
    CAPTURE(row.trace);
    CAPTURE(row.model);
    CAPTURE(row.hours);
    LayoutTable table = preset_layouts(row.model);
    LayoutBook book(table);
    const CampaignProblem problem{.trace = preset_trace(row.trace),
                                  .until_ns = static_cast<std::int64_t>(row.hours * 3.6e12),
                                  .ready_ns = 45'000 * kNsPerMillisecond,
                                  .options = {{"local", row.local}}};
    const CampaignResult result = run_campaign(problem, "bamboo", book);
    CHECK(result.steps == row.steps);
    CHECK(result.removals == row.removals);
    CHECK(result.fatal == row.fatal);
    CHECK(result.recoveries == row.meetings);
    const double trained_s = static_cast<double>(result.last_step_ns - result.first_step_ns) / 1e9;
    const double samples = static_cast<double>(result.steps) * table.rows().begin()->second.step.samples;
    CHECK(std::abs(samples / trained_s - row.samples_per_s) < 0.00051);
    CHECK(sum_of_times(result) == problem.until_ns);

    // It counts nodes until the last step, as if the first ones had been there from the beginning, and changes behind
    // the last step with the nodes of the end.
    const std::int64_t first_ns = problem.trace.events.front().at_ns;
    const auto first = std::ranges::count(problem.trace.events, first_ns, &NodeEvent::at_ns);
    const double last_h = static_cast<double>(result.last_step_ns) / 3.6e12;
    const double counted = result.node_hours + static_cast<double>(first_ns) / 3.6e12 * static_cast<double>(first) -
                           (row.hours - last_h) * result.nodes.back().nodes;
    CHECK(std::abs(counted / last_h - row.nodes) < 0.00051);
  }
}

TEST_CASE("parcae's released program: samples of its throughput-optimized baseline, whole trace and first hour") {
  struct Row {
    const char* layouts;
    double ideal, baseline, first_hour_ideal, first_hour;
  };
  for (const Row& row : {Row{"parcae-gpt-1.5b", 1'506'023.7, 1'171'346.2, 144'416.3, 105'090.7},
                         Row{"parcae-bert", 18'585'497.6, 16'680'333.0, 1'812'839.5, 1'598'384.1},
                         Row{"parcae-vgg19", 66'484'452.1, 58'534'009.3, 6'526'631.3, 5'625'395.5},
                         Row{"parcae-resnet152", 94'554'281.9, 86'120'323.4, 9'412'009.9, 8'447'625.2}}) {
    CAPTURE(row.layouts);
    LayoutTable table = preset_layouts(row.layouts);
    LayoutBook book(table);
    CampaignProblem problem;
    problem.trace = in_intervals(preset_trace("bamboo-p3"), 60'000 * kNsPerMillisecond, problem.until_ns);
    CHECK(problem.until_ns == 683 * 60'000 * kNsPerMillisecond);
    const CampaignResult whole = run_campaign(problem, "parcae", book);
    CHECK(std::abs(whole.undisturbed - row.ideal) < 0.06);
    CHECK(std::abs(whole.samples - row.baseline) < 0.06);
    problem.until_ns = 60 * 60'000 * kNsPerMillisecond;
    const CampaignResult hour = run_campaign(problem, "parcae", book);
    CHECK(std::abs(hour.undisturbed - row.first_hour_ideal) < 0.06);
    CHECK(std::abs(hour.samples - row.first_hour) < 0.06);
    CHECK(sum_of_times(hour) == problem.until_ns);
  }
}

// Parcae's released program (liveput.py with true forecasts, 8 intervals ahead) gives 6,172,245 samples for vgg19 (5
// draws of every event) and 1,752,160 for bert (3 draws) in the first hour. Its costs of regrouping and copying are
// finer than those of the tables.
TEST_CASE(
    "parcae that knows the nodes ahead gets more than its baseline from all four tables, and less than undisturbed") {
  for (const char* layouts : {"parcae-gpt-1.5b", "parcae-bert", "parcae-vgg19", "parcae-resnet152"}) {
    CAPTURE(layouts);
    LayoutTable table = preset_layouts(layouts);
    LayoutBook book(table);
    CampaignProblem problem;
    problem.trace = in_intervals(preset_trace("bamboo-p3"), 60'000 * kNsPerMillisecond, problem.until_ns);
    const double baseline = run_campaign(problem, "parcae", book).samples;
    problem.options["ahead"] = "8";
    const CampaignResult ahead = run_campaign(problem, "parcae", book);
    CHECK(ahead.samples > 1.05 * baseline);
    CHECK(ahead.samples < ahead.undisturbed);
    CHECK(sum_of_times(ahead) == problem.until_ns);
    problem.until_ns = 60 * 60'000 * kNsPerMillisecond;
    const double hour = run_campaign(problem, "parcae", book).samples;
    if (std::string(layouts) == "parcae-vgg19") CHECK(std::abs(hour / 6'172'245 - 1) < 0.015);
    if (std::string(layouts) == "parcae-bert") CHECK(std::abs(hour / 1'752'160 - 1) < 0.01);
  }
}

TEST_CASE("the recorded traces have the nodes that are known of them") {
  const NodeTrace p3 = preset_trace("bamboo-p3");
  const auto count = [](const NodeTrace& trace, NodeEventKind kind) {
    return std::ranges::count(trace.events, kind, &NodeEvent::kind);
  };
  CHECK(count(p3, NodeEventKind::kAdd) == 177);
  CHECK(count(p3, NodeEventKind::kRemove) == 167);
  CHECK(most_nodes_of(p3) == 32);
  const NodeTrace g4dn = preset_trace("bamboo-g4dn");
  CHECK(count(g4dn, NodeEventKind::kAdd) == 79);
  CHECK(count(g4dn, NodeEventKind::kRemove) == 74);
  CHECK(most_nodes_of(g4dn) == 24);
}

}  // namespace plumb::testing

TEST_SUITE_END();
