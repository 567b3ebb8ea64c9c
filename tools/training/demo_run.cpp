#include "tools/training/demo_run.hpp"

#include <algorithm>
#include <numeric>

#include "models/import/load_network.hpp"
#include "models/stages/partition.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/training/demo_text.hpp"
#include "trainer/data/text_data.hpp"
#include "trainer/profile/profile_run.hpp"
#include "trainer/train.hpp"

namespace plumb {
namespace {

/// A device is a core here and runs one pass at a time.
Schedule demo_schedule(const DemoPlan& plan, const std::string& name) {
  ScheduleParams params{.num_devices = plan.devices, .num_microbatches = plan.microbatches, .updates = plan.updates};
  if (schedule_named(name).has_option("timing")) params.options["timing"] = "1f1b";
  return generate(name, params);
}

Timeline predict(const Schedule& schedule, const Profile& profile, const Network& network) {
  CostDocuments documents;
  documents.profile = profile;
  documents.network = network;
  const CostInput input = cost_input({}, documents, schedule);
  Timeline timeline = simulate(lower(schedule, input.costs, input.cluster_pointer()));
  timeline.schedule = schedule.name;
  timeline.machine = input.description;
  return timeline;
}

ProfileOptions profile_options(const DemoPlan& plan, const Network& network, const TrainingData& data) {
  ProfileOptions options;
  options.network = network;
  options.shape = {network.samples, network.sequence};
  options.partition = balanced_partition(relative_layer_times(network, options.shape), plan.devices);
  options.data = &data;
  options.microbatches = plan.microbatches;
  return options;
}

TrainResult train_once(const ProfileOptions& profiled, const Schedule& schedule) {
  TrainOptions options;
  options.model.network = profiled.network;
  options.model.partition = profiled.partition;
  options.schedule = schedule;
  options.model.shape = profiled.shape;
  options.data = profiled.data;
  return train(options);
}

std::size_t median_run(const std::vector<Timeline>& runs) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return runs[a].step_time < runs[b].step_time; });
  return order[(order.size() - 1) / 2];
}

std::int64_t most_memory(const Timeline& timeline) {
  std::int64_t most = 0;
  for (const DeviceSummary& device : timeline.devices) most = std::max(most, device.peak_memory_bytes);
  return most;
}

std::string table_share(double share) { return fixed_text(100 * share, 1) + " %"; }

std::string signed_table_share(double share) { return (share > 0 ? "+" : "") + table_share(share); }

}  // namespace

DemoRun demo_run(const DemoPlan& plan, Progress& progress) {
  const TextData data{std::string(kDemoText)};
  const ProfileOptions options = profile_options(plan, load_network(plan.network), data);
  StageProfiler profiler(options);
  DemoRun run;
  std::vector<Schedule> schedules;
  for (const std::string& name : plan.schedules) {
    schedules.push_back(demo_schedule(plan, name));
    run.results.emplace_back().schedule = name;
  }
  const auto steps_per_round = static_cast<std::int64_t>(schedules.size()) + 1;
  for (std::int64_t round = 0; round < plan.rounds; ++round) {
    const auto show = [&](std::int64_t step, const std::string& what) {
      progress.show(round * steps_per_round + step, plan.rounds * steps_per_round, what);
    };
    show(0, "measuring the stages");
    profiler.measure_round();
    for (std::size_t s = 0; s < schedules.size(); ++s) {
      show(static_cast<std::int64_t>(s) + 1, "training with " + plan.schedules[s]);
      TrainResult trained = train_once(options, schedules[s]);
      run.results[s].first_loss = trained.losses.front();
      run.results[s].last_loss = trained.losses.back();
      run.results[s].measured.push_back(std::move(trained.timeline).value());
    }
  }
  run.profile = profiler.profile();
  for (std::size_t s = 0; s < schedules.size(); ++s) {
    DemoResult& result = run.results[s];
    result.predicted = predict(schedules[s], run.profile, options.network);
    result.comparison = compare(result.predicted, result.measured, {.max_error = 0.05, .memory_exact = true});
    result.median = median_run(result.measured);
  }
  return run;
}

std::string demo_text(const DemoPlan& plan, const std::vector<DemoResult>& results) {
  TextTable table({{"schedule"},
                   {"step predicted", '>'},
                   {"step measured", '>'},
                   {"error", '>'},
                   {"spread of runs", '>'},
                   {"bubble predicted", '>'},
                   {"bubble measured", '>'},
                   {"peak memory predicted", '>'},
                   {"peak memory measured", '>'},
                   {"loss", '>'}});
  for (const DemoResult& result : results) {
    const Comparison& c = result.comparison;
    table.add_row({result.schedule, time_text(static_cast<std::int64_t>(c.step_time_ns.predicted)),
                   time_text(static_cast<std::int64_t>(c.step_time_ns.measured)),
                   signed_table_share(c.step_time_ns.error), table_share(c.spread),
                   table_share(c.bubble_fraction.predicted), table_share(c.bubble_fraction.measured),
                   bytes_text(most_memory(result.predicted)), bytes_text(most_memory(result.measured[result.median])),
                   fixed_text(result.first_loss, 2) + " -> " + fixed_text(result.last_loss, 2)});
  }
  std::string text = plan.network + " on " + std::to_string(plan.devices) + " devices, " +
                     std::to_string(plan.microbatches) + " microbatches per update, " + std::to_string(plan.updates) +
                     " updates, " + std::to_string(plan.rounds) + " runs each\n\n";
  text += table.to_string();
  for (const DemoResult& result : results) {
    for (const std::string& finding : result.comparison.findings) text += result.schedule + ": " + finding + "\n";
  }
  return text;
}

std::string demo_page(const DemoPlan& plan, const std::vector<DemoResult>& results) {
  HtmlReport report{.title = "Plumbline demo: predicted and measured",
                    .note = plan.network + ", trained on " + std::to_string(plan.devices) + " threads",
                    .sections = {}};
  for (const DemoResult& result : results) {
    report.sections.push_back(
        {.title = result.schedule, .note = {}, .first = &result.predicted, .second = &result.measured[result.median]});
  }
  return html_report(report);
}

}  // namespace plumb
