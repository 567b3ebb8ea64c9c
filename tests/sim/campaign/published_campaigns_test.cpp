#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "models/ground/error.hpp"
#include "models/ground/presets.hpp"
#include "sim/campaign/bamboo_means.hpp"
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
  double nodes, samples_per_s, cost_per_hour, value;
};

}  // namespace

TEST_CASE("bamboo's released simulation: all numbers of eight rows to the last digit") {
  for (const BambooRow& row :
       {BambooRow{"bamboo-p3", 12, "bamboo-gpt2", "20", 28038, 167, 8, 77, 25.748, 24.666, 23.431, 1.1236},
        BambooRow{"bamboo-p3", 12, "bamboo-bert", "20", 10791, 167, 8, 77, 25.759, 78.370, 23.440, 3.3853},
        BambooRow{"bamboo-p3", 12, "bamboo-resnet", "10", 13975, 167, 11, 106, 23.288, 124.439, 21.192, 5.4400},
        BambooRow{"bamboo-p3", 10, "bamboo-gpt2", "20", 27680, 159, 6, 74, 25.368, 24.656, 23.085, 1.1181},
        BambooRow{"bamboo-g4dn", 10, "bamboo-gpt2", "20", 16235, 62, 1, 44, 12.607, 14.707, 11.472, 1.0986},
        BambooRow{"bamboo-g4dn", 10, "bamboo-resnet", "10", 6500, 62, 5, 51, 12.607, 70.660, 11.472, 5.8575},
        BambooRow{"bamboo-g4dn", 10, "bamboo-gnmt", "10", 16362, 62, 2, 47, 12.607, 133.399, 11.472, 11.1808},
        BambooRow{"bamboo-g4dn", 10, "bamboo-vgg", "5", 5554, 62, 2, 47, 12.607, 60.376, 11.472, 5.0519}}) {
    CAPTURE(row.trace);
    CAPTURE(row.model);
    CAPTURE(row.hours);
    LayoutTable table = preset_layouts(row.model);
    LayoutBook book(table);
    const CampaignProblem problem{.trace = preset_trace(row.trace),
                                  .until_ns = static_cast<std::int64_t>(row.hours * 3.6e12),
                                  .ready_ns = 45'000 * kNsPerMillisecond,
                                  .price_per_node_hour = 0.91,
                                  .options = {{"local", row.local}}};
    const CampaignResult result = run_campaign(problem, "bamboo", book);
    CHECK(result.steps == row.steps);
    CHECK(result.removals == row.removals);
    CHECK(result.fatal == row.fatal);
    CHECK(result.recoveries == row.meetings);
    CHECK(sum_of_times(result) == problem.until_ns);
    const BambooMeans means = bamboo_means(result);
    CHECK(std::abs(means.nodes - row.nodes) < 0.00051);
    CHECK(std::abs(means.samples_per_s - row.samples_per_s) < 0.00051);
    CHECK(std::abs(means.cost_per_hour - row.cost_per_hour) < 0.00051);
    CHECK(std::abs(means.samples_per_s_per_cost - row.value) < 0.000051);
  }
}

TEST_CASE("a campaign without a step has no means, and one without a price no cost") {
  LayoutTable table = preset_layouts("bamboo-gpt2");
  LayoutBook book(table);
  CampaignProblem problem{.trace = preset_trace("bamboo-p3"), .until_ns = 1000 * kNsPerMillisecond};
  CHECK(bamboo_means(run_campaign(problem, "bamboo", book)).nodes == 0);
  problem.until_ns = 3'600'000 * kNsPerMillisecond;
  const BambooMeans means = bamboo_means(run_campaign(problem, "bamboo", book));
  CHECK(means.samples_per_s > 0);
  CHECK(means.cost_per_hour == 0);
  CHECK(means.samples_per_s_per_cost == 0);
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

// The numbers of the first hour are those of Parcae's released program (liveput.py with true forecasts, 8 intervals
// ahead), with 5 draws of every event for vgg19 and 3 for the others. Its costs of regrouping and copying are finer
// than those of the tables.
TEST_CASE(
    "parcae that knows the nodes ahead gets more than its baseline from all four tables, and less than undisturbed") {
  struct FirstHour {
    const char* layouts;
    double samples, share;
  };
  for (const FirstHour& released :
       {FirstHour{"parcae-gpt-1.5b", 134'098.6, 0.018}, FirstHour{"parcae-bert", 1'752'160, 0.01},
        FirstHour{"parcae-vgg19", 6'172'245, 0.015}, FirstHour{"parcae-resnet152", 9'154'251, 0.018}}) {
    CAPTURE(released.layouts);
    LayoutTable table = preset_layouts(released.layouts);
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
    CHECK(std::abs(hour / released.samples - 1) < released.share);
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
