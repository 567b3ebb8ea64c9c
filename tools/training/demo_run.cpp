#include "tools/training/demo_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numeric>
#include <span>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include "models/import/load_network.hpp"
#include "models/stages/layer_work.hpp"
#include "models/stages/partition.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/training/demo_text.hpp"
#include "trainer/data/text_data.hpp"
#include "trainer/profile/profile_run.hpp"
#include "trainer/train.hpp"

namespace plumb {
namespace {

constexpr double kSliceSeconds = 0.003;

/// Time of all processors, in clock ticks.
struct ProcessorTimes {
  std::int64_t stolen = 0;
  std::int64_t busy = 0;  ///< of this machine's programs and system
  std::int64_t all = 0;
};

ProcessorTimes processor_times() {
  constexpr int kIdle = 3;
  constexpr int kWaits = 4;
  constexpr int kSteal = 7;
  constexpr int kFields = 8;  // user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  ProcessorTimes times;
  std::int64_t ticks = 0;
  for (int field = 0; field < kFields && stat >> ticks; ++field) {
    if (field == kSteal) times.stolen = ticks;
    if (field != kIdle && field != kWaits && field != kSteal) times.busy += ticks;
    times.all += ticks;
  }
  return times;
}

rusage own_usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Time that this process computed.
double own_seconds(const rusage& usage) { return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime); }

}  // namespace

double Disturbance::lost(std::int64_t threads) const {
  if (seconds <= 0) return 0;
  const auto wanted = static_cast<double>(threads);
  const double slices = static_cast<double>(switches) * kSliceSeconds / (seconds * wanted);
  const double left = std::clamp(processors - others, 0.0, wanted);
  const double crowded = processors > 0 ? 1 - left / wanted : 0;
  return std::min(1.0, steal + std::max(slices, crowded));
}

DisturbanceWatch::DisturbanceWatch() : begin_(std::chrono::steady_clock::now()) {
  const ProcessorTimes now = processor_times();
  stolen_ = now.stolen;
  busy_ = now.busy;
  all_ = now.all;
  const rusage usage = own_usage();
  switches_ = usage.ru_nivcsw;
  own_seconds_ = own_seconds(usage);
}

Disturbance DisturbanceWatch::read() const {
  const ProcessorTimes now = processor_times();
  const rusage usage = own_usage();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
  Disturbance found{.switches = usage.ru_nivcsw - switches_, .seconds = seconds.count()};
  if (now.all <= all_ || found.seconds <= 0) return found;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const double busy_seconds = static_cast<double>(now.busy - busy_) / ticks;
  found.steal = static_cast<double>(now.stolen - stolen_) / static_cast<double>(now.all - all_);
  found.processors = static_cast<double>(now.all - all_) / ticks / found.seconds;
  found.others = std::max(0.0, busy_seconds - (own_seconds(usage) - own_seconds_)) / found.seconds;
  return found;
}

std::vector<std::size_t> calm_rounds(const std::vector<double>& lost, double most) {
  std::vector<std::size_t> order(lost.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t round) { return lost[round]; });
  const auto calm = static_cast<std::size_t>(std::ranges::count_if(lost, [&](double share) { return share <= most; }));
  order.resize(std::max(calm, (lost.size() + 1) / 2));
  std::ranges::sort(order);
  return order;
}

namespace {

constexpr double kMostError = 0.05;
constexpr double kMostLost = 0.02;

/// A device runs one pass at a time.
Schedule demo_schedule(const DemoPlan& plan, const std::string& name) {
  ScheduleParams params{.num_devices = plan.devices, .num_microbatches = plan.microbatches, .updates = plan.updates};
  if (schedule_named(name).has_option("timing")) params.options["timing"] = "1f1b";
  return generate(name, params);
}

/// The profile with medians in place of means: what is usual, as `compare` sees the runs, and not what interruptions
/// add.
Profile usual_times(Profile profile) {
  for (auto* stages : {&profile.stages, &profile.crowded}) {
    for (ProfiledTimes& stage : *stages) {
      for (Measured* time : {&stage.f, &stage.b, &stage.i, &stage.w, &stage.r, &stage.u}) time->mean_ns = 0;
    }
  }
  return profile;
}

Timeline predict(const Schedule& schedule, const Profile& profile, const Network& network) {
  CostSource source;
  source.kind = StageProfile{.profile = usual_times(profile), .network = std::make_shared<const Network>(network)};
  const PreparedRun run = prepare_run(schedule, price(source, schedule), source, {});
  return plumb::predict(run, {}, run.rules.simulation(schedule));
}

ProfileOptions profile_options(const DemoPlan& plan, const Network& network, const TrainingData& data) {
  ProfileOptions options;
  options.network = network;
  options.shape = {network.samples, network.sequence};
  options.partition = balanced_partition(relative_layer_times(network, options.shape), plan.devices);
  options.data = &data;
  options.microbatches = plan.microbatches;
  options.clock = plan.clock;
  return options;
}

TrainResult train_once(const ProfileOptions& profiled, const Schedule& schedule) {
  TrainOptions options;
  options.model.network = profiled.network;
  options.model.partition = profiled.partition;
  options.schedule = schedule;
  options.model.shape = profiled.shape;
  options.data = profiled.data;
  options.execution.clock = profiled.clock;
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

/// One round: the runs of the profile and a run of every schedule.
struct DemoRound {
  StageProfiler profiler;
  std::vector<TrainResult> trained;
};

/// Profiling and training take turns within every round, too.
std::vector<DemoRound> measure_rounds(const DemoPlan& plan, const ProfileOptions& options,
                                      const std::vector<Schedule>& schedules, Progress& progress, DemoRun& run) {
  const std::vector<ProfileKind> kinds = StageProfiler(options).round();
  const auto steps_per_round = static_cast<std::int64_t>(kinds.size() + schedules.size());
  std::vector<DemoRound> rounds;
  std::int64_t step = 0;
  const auto show = [&](const std::string& what) { progress.show(step++, plan.rounds * steps_per_round, what); };
  for (std::int64_t round = 0; round < plan.rounds; ++round) {
    const DisturbanceWatch watch;
    DemoRound& measured = rounds.emplace_back(DemoRound{StageProfiler(options), {}});
    for (std::size_t turn = 0; turn < std::max(kinds.size(), schedules.size()); ++turn) {
      if (turn < kinds.size()) {
        show("measuring the stages");
        measured.profiler.measure(kinds[turn]);
      }
      if (turn < schedules.size()) {
        show("training with " + plan.schedules[turn]);
        measured.trained.push_back(train_once(options, schedules[turn]));
      }
    }
    run.lost.push_back(watch.read().lost(plan.devices));
  }
  return rounds;
}

DemoResult compared(const std::string& name, Timeline predicted, std::vector<TrainResult> trained) {
  DemoResult result;
  result.schedule = name;
  result.predicted = std::move(predicted);
  result.first_loss = trained.back().losses.front();
  result.last_loss = trained.back().losses.back();
  for (TrainResult& one : trained) result.measured.push_back(std::move(one.timeline).value());
  result.comparison = compare(result.predicted, result.measured, {.max_error = kMostError, .memory_exact = true});
  result.median = median_run(result.measured);
  return result;
}

std::string table_share(double share) { return fixed_text(100 * share, 1) + " %"; }

std::string signed_table_share(double share) { return (share > 0 ? "+" : "") + table_share(share); }

/// What a reader learns from a comparison.
std::string verdict_words(const Comparison& comparison) {
  switch (comparison.verdict) {
    case Verdict::kPass:
      return "as predicted";
    case Verdict::kNoisy:
      return "no answer: runs differ";
    case Verdict::kFail:
    case Verdict::kNone:
      break;
  }
  return "not as predicted";
}

std::string rounds_text(const DemoPlan& plan, const DemoRun& run) {
  const auto [least, most] = std::ranges::minmax(run.lost);
  const std::size_t dropped = run.lost.size() - run.rounds.size();
  std::string text = std::to_string(run.lost.size()) + (run.lost.size() == 1 ? " round" : " rounds") +
                     " of measuring the stages and training; ";
  text += dropped == 0 ? "all of them count" : std::to_string(dropped) + " left out as the most disturbed";
  if (plan.clock == ClockKind::kProcessor) return text + ". The time that other programs took is in none of them.\n";
  text += ". Other programs took an estimated " + (least < most ? table_share(least) + " to " : "") +
          table_share(most) + " of the time";
  const bool busy = std::ranges::any_of(run.rounds, [&](std::size_t round) { return run.lost[round] > kMostLost; });
  return text + (busy ? ", also of the rounds that count: this machine is busy.\n" : ".\n");
}

/// "gpipe, 1f1b" of those with the verdict.
std::string names_with(const DemoRun& run, std::span<const Verdict> verdicts) {
  std::string names;
  for (const DemoResult& result : run.results) {
    if (std::ranges::find(verdicts, result.comparison.verdict) == verdicts.end()) continue;
    names += (names.empty() ? "" : ", ") + result.schedule;
  }
  return names;
}

/// The answer in plain words, for whoever reads only a few lines.
std::string short_answer(const DemoRun& run) {
  double model = 0;
  double noise = 0;
  double spread = 0;
  for (const DemoResult& result : run.results) {
    noise = std::max(noise, std::abs(result.comparison.noise()));
    spread = std::max(spread, result.comparison.spread);
    if (result.comparison.verdict != Verdict::kNoisy)
      model = std::max(model, std::abs(result.comparison.model_error()));
  }
  const std::string right = names_with(run, std::array{Verdict::kPass});
  const std::string open = names_with(run, std::array{Verdict::kNoisy});
  const std::string wrong = names_with(run, std::array{Verdict::kFail, Verdict::kNone});
  std::string text = "In short, on this machine, with noise of up to " + table_share(noise) +
                     " and runs of one schedule that differ by up to " + table_share(spread) + ":\n";
  if (!right.empty()) text += "  as predicted: " + right + "\n";
  if (!wrong.empty()) text += "  not as predicted: " + wrong + "\n";
  if (!right.empty() || !wrong.empty()) text += "  the model is at most " + table_share(model) + " off in these\n";
  if (!open.empty()) {
    text +=
        "  no answer: " + open +
        "\n    Runs of the same schedule took such different times that no prediction can be judged by them. Try again "
        "when\n    less else runs on this machine.\n";
  }
  return text;
}

constexpr const char* kDemoWords =
    "error = model + noise. model: how far the prediction is from what is usual in the runs: between median and\n"
    "mean of like actions and messages. noise: how far this run is from that, because other programs and the system\n"
    "disturb it; no prediction can know that. A schedule is as predicted when the model's part is at most 5 %; when "
    "it\n"
    "is more, there is no answer as long as the runs of the same schedule differ among themselves by more than 5 %.\n";

}  // namespace

DemoRun demo_run(const DemoPlan& plan, Progress& progress) {
  const TextData data{std::string(kDemoText)};
  const ProfileOptions options = profile_options(plan, load_network(plan.network), data);
  std::vector<Schedule> schedules;
  for (const std::string& name : plan.schedules) schedules.push_back(demo_schedule(plan, name));
  DemoRun run;
  std::vector<DemoRound> rounds = measure_rounds(plan, options, schedules, progress, run);
  if (plan.clock == ClockKind::kProcessor) std::ranges::fill(run.lost, 0);
  run.rounds = calm_rounds(run.lost, kMostLost);
  StageProfiler profiler(options);
  for (const std::size_t round : run.rounds) profiler.add(rounds[round].profiler);
  run.profile = profiler.profile();
  for (std::size_t s = 0; s < schedules.size(); ++s) {
    std::vector<TrainResult> trained;
    for (const std::size_t round : run.rounds) trained.push_back(std::move(rounds[round].trained[s]));
    run.results.push_back(
        compared(plan.schedules[s], predict(schedules[s], run.profile, options.network), std::move(trained)));
  }
  return run;
}

std::string demo_text(const DemoPlan& plan, const DemoRun& run) {
  TextTable table({{"schedule"},
                   {"predicted", '>', "step"},
                   {"measured", '>', "step"},
                   {"error", '>'},
                   {"model", '>'},
                   {"noise", '>'},
                   {"by", '>', "runs differ"},
                   {"verdict"},
                   {"predicted", '>', "bubble"},
                   {"measured", '>', "bubble"},
                   {"predicted", '>', "peak memory"},
                   {"measured", '>', "peak memory"},
                   {"loss", '>'}});
  for (const DemoResult& result : run.results) {
    const Comparison& c = result.comparison;
    table.add_row({result.schedule, time_text(static_cast<std::int64_t>(c.step_time_ns.predicted)),
                   time_text(static_cast<std::int64_t>(c.step_time_ns.measured)),
                   signed_table_share(c.step_time_ns.error), signed_table_share(c.model_error()),
                   signed_table_share(c.noise()), table_share(c.spread), verdict_words(c),
                   table_share(c.bubble_fraction.predicted), table_share(c.bubble_fraction.measured),
                   bytes_text(most_memory(result.predicted)), bytes_text(most_memory(result.measured[result.median])),
                   fixed_text(result.first_loss, 2) + " -> " + fixed_text(result.last_loss, 2)});
  }
  std::string text = plan.network + " on " + std::to_string(plan.devices) + " devices" +
                     std::string(clock_words(plan.clock)) + ", " + std::to_string(plan.microbatches) +
                     " microbatches per update, " + std::to_string(plan.updates) + " updates, " +
                     std::to_string(plan.rounds) + " runs each\n\n";
  text += table.to_string() + "\n" + kDemoWords + rounds_text(plan, run) + "\n" + short_answer(run);
  for (const DemoResult& result : run.results) {
    if (result.comparison.verdict != Verdict::kFail) continue;
    for (const std::string& finding : result.comparison.findings) text += result.schedule + ": " + finding + "\n";
  }
  return text;
}

std::string demo_page(const DemoPlan& plan, const DemoRun& run) {
  HtmlReport report{.title = "Plumbline demo: predicted and measured",
                    .note = plan.network + ", trained on " + std::to_string(plan.devices) + " devices" +
                            std::string(clock_words(plan.clock)) + ". " + rounds_text(plan, run),
                    .sections = {}};
  for (const DemoResult& result : run.results) {
    report.sections.push_back({.title = result.schedule,
                               .note = {},
                               .first = &result.predicted,
                               .second = &result.measured[result.median],
                               .comparison = result.comparison});
  }
  return html_report(report);
}

}  // namespace plumb
