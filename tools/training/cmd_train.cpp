#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/ground/text_stream.hpp"
#include "models/network/network.hpp"
#include "models/sources/profile.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/formats/transfer_hang.hpp"
#include "sim/prediction/predict.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/run_profile_document.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/options/run_options.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/tables/text_timeline.hpp"
#include "tools/tables/timeline_text.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/terminal.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"
#include "tools/training/process_job.hpp"
#include "tools/training/run_record.hpp"
#include "tools/training/train_arguments.hpp"
#include "tools/training/training.hpp"
#include "trainer/backends/backends.hpp"
#include "trainer/checkpoint/checkpoint.hpp"
#include "trainer/links/nccl_library.hpp"
#include "trainer/train.hpp"

namespace plumb {
namespace {

/// Options of the back end paced: the machine that a run behaves as, how messages travel, and how slowly.
struct PaceArguments {
  std::string cluster;
  RunRules rules;
  std::optional<double> dilation;

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);

  /// Makes the costs those of the model that `training` names, and gives `training` the network of a profile, or with
  /// abstract costs alone a chain of small blocks, where it names none. Nothing with another back end. Throws `Error`
  /// for options that do not go together.
  void complete(CostArguments& costs, TrainArguments& training) const;

  /// Gives `options` the times, the cut and the links that belong to `input`, which must outlive the run.
  void apply(const PricedPipeline& input, const Schedule& schedule, TrainOptions& options) const;
};

/// More blocks than most schedules have stages.
constexpr int kStandInBlocks = 128;
constexpr std::int64_t kStandInWidth = 8;
constexpr std::int64_t kByteVocabulary = 256;

/// What is run where only times are given: a network that reads bytes, with small blocks.
Network stand_in() {
  Network network;
  network.name = "blocks";
  network.samples = 1;
  network.sequence = kStandInWidth;
  network.layers.push_back({.kind = LayerKind::kEmbedding,
                            .name = "embedding",
                            .width = kStandInWidth,
                            .vocabulary = kByteVocabulary,
                            .positions = kStandInWidth});
  for (int k = 0; k < kStandInBlocks; ++k) {
    const std::string name = "block" + std::to_string(k);
    network.layers.push_back(
        {.kind = LayerKind::kResidual,
         .name = name,
         .width = kStandInWidth,
         .body = {{.kind = LayerKind::kMlp, .name = name + ".mlp", .width = kStandInWidth, .hidden = kStandInWidth}}});
  }
  network.layers.push_back(
      {.kind = LayerKind::kHead, .name = "head", .width = kStandInWidth, .vocabulary = kByteVocabulary});
  return network;
}

void refuse_with_others(const PaceArguments& given, ClockKind clock) {
  const std::string why = ": applies to runs with given times, expected --backend paced with it";
  const bool gives_links = clock == ClockKind::kProcessor;
  const std::array<std::pair<bool, const char*>, 6> options{{{!given.cluster.empty() && !gives_links, "--cluster"},
                                                             {!given.rules.runtime.empty(), "--runtime"},
                                                             {given.rules.transfers.has_value(), "--transfers"},
                                                             {given.rules.receives.has_value(), "--receives"},
                                                             {given.rules.send_buffers.has_value(), "--send-buffers"},
                                                             {given.dilation.has_value(), "--dilation"}}};
  for (const auto& [is_given, name] : options) {
    if (is_given) throw Error(name + why);
  }
}

/// What a run without arithmetic cannot do.
void refuse_arithmetic(const TrainArguments& training) {
  const std::string why = ": the back end paced computes nothing, expected another --backend with it";
  if (!training.weights.empty()) throw Error("--weights" + why);
  if (training.model.evaluate_every) throw Error("--evaluate-every" + why);
  if (training.model.held_out) throw Error("--held-out" + why);
  if (training.translate) throw Error("--translate" + why);
}

/// Abstract times and the profile of a real run know no network.
bool knows_no_network(const CostArguments& costs) {
  if (!costs.cost.empty()) return true;
  return !costs.profile.empty() &&
         run_profile_in(read_text_file(costs.profile, kProfileFile), costs.profile).has_value();
}

void PaceArguments::add_to(OptionTable& parser) {
  parser.group("Runs with given times (back end paced)")
      .text("cluster", cluster, "NAME|FILE",
            "devices and links: with --network instead of --cost, the times that actions take there; with --clock "
            "processor, the links that messages and reductions take")
      .real("dilation", dilation, {1e-6, 1e6},
            "real time for given time: at 10 a forward of 1 ms takes 10 ms, and counts as 1 ms (default: 1)");
  add_messages_to(parser, rules);
}

void PaceArguments::complete(CostArguments& costs, TrainArguments& training) const {
  ModelArguments& model = training.model;
  if (!backend(model.backend).paced) return refuse_with_others(*this, model.clock_kind());
  refuse_arithmetic(training);
  costs.cluster = cluster;
  if (knows_no_network(costs)) {
    if (model.network.empty()) model.stand_in = stand_in();
    if (model.partition.empty()) model.partition = "equal";
    return;
  }
  costs.partition = model.partition;
  costs.network = model.network;
  costs.samples = model.samples;
  costs.sequence = model.sequence;
  if (!costs.profile.empty()) {
    if (!model.network.empty()) return;
    model.network = profile_from_json(read_text_file(costs.profile, kProfileFile), costs.profile).network;
    return;
  }
  if (cluster.empty()) {
    throw Error(
        "--backend paced: the times are missing, expected --cost LIST (such as F=10,B=20), --profile FILE, or " +
        std::string("--network NAME --cluster NAME"));
  }
  costs.precision = model.numbers == "bf16" ? "mixed" : "single";
}

void PaceArguments::apply(const PricedPipeline& input, const Schedule& schedule, TrainOptions& options) const {
  if (input.partition) options.model.partition = *input.partition;
  options.execution.cluster = input.cluster_pointer();
  options.execution.lowering = rules.lowering(schedule);
  StageCosts costs = input.costs;
  costs.runtime = {};  // its own host and calls are real
  options.execution.pace = PaceOptions{
      .costs = std::move(costs), .transfers = rules.simulation(schedule).transfers, .dilation = dilation.value_or(1)};
}

/// Rows of the table of losses.
constexpr std::size_t kMostLosses = 12;
/// Columns of jobs in it.
constexpr std::size_t kMostJobs = 6;
/// More spans are not drawn in characters, because the drawing would be unreadable.
constexpr std::size_t kMostDrawnSpans = 20'000;

struct TrainCommand {
  std::string schedule;
  ScheduleArguments size;
  CostArguments costs;
  TrainArguments training;
  PaceArguments pace;
  ReportArguments reports;
  std::optional<std::int64_t> steps;
  std::string checkpoint;
  std::optional<std::int64_t> checkpoint_every;
  bool resume = false;
  std::string losses;
  std::string log;
  std::string transport = "local";

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "train NAME|FILE --network N [options]",
        "Trains a model with a schedule and measures what `simulate` predicts: timeline, bubbles and memory.");
    parser.positional(schedule, "NAME|FILE")
        .whole("steps", steps, {}, "number of optimizer updates (default: those of the schedule)")
        .text("checkpoint", checkpoint, "DIR", "folder for checkpoints of the weights, the optimizer and the position")
        .whole("checkpoint-every", checkpoint_every, {}, "updates between checkpoints (default: 1)")
        .flag("resume", resume, "continue from the newest checkpoint")
        .text("losses", losses, "FILE",
              "write the mean loss of every update as CSV when it ends, and at the end the losses of several jobs")
        .text("log", log, "FILE",
              "write loss, learning rate, seconds, samples and tokens per second of every update, and held-out losses, "
              "as CSV when they come")
        .text("transport", transport, "NAME",
              "local (all devices in this process), mpi (one process per device: mpirun -np P plumbline train ...), or "
              "nccl (one process per device, messages from GPU to GPU) (default: local)")
        .words(std::array<std::string_view, 3>{"local", "mpi", "nccl"});
    size.runs_programs = true;
    size.add_to(parser);
    costs.add_search_to(parser);
    training.add_to(parser);
    pace.add_to(parser);
    reports.add_to(parser);
    if (!parse_command_line(parser, arguments)) return false;
    pace.complete(costs, training);
    if (is_paced() && !losses.empty()) throw Error("--losses: the back end paced computes none");
    if (is_paced() && !log.empty()) throw Error("--log: the back end paced computes no losses");
    check_distinct_outputs({losses, log});
    return true;
  }

  bool is_paced() const { return backend(training.model.backend).paced; }
};

/// What the devices of a document with a policy decide in a simulated run: by the costs that are named, or without any
/// with a backward as long as two forwards.
Schedule decided(const TrainCommand& command, Schedule schedule) {
  if (!schedule.policy) return schedule;
  CostArguments costs = command.costs;
  if (!costs.any()) costs.cost = "F=1,B=2";
  const CostSource source = load_costs(costs);
  PricedPipeline priced = price(source, schedule);
  OrderedRun decided = decide_order(prepare_run(std::move(schedule), std::move(priced), source, {}));
  if (decided.without_contention) note_order_without_contention();
  return std::move(decided.run.schedule);
}

/// A schedule of inference has no backward, so nothing would be trained.
void refuse_inference(const std::string& name, const Schedule& schedule) {
  if (!schedule.forward_only) return;
  throw Error(name +
              ": is a schedule of inference (mode forward) and trains nothing; expected one with backwards, or " +
              "`plumbline simulate " + shell_word(name) + "`");
}

/// An asynchronous pipeline is filled and drained once, so its document covers all steps.
Schedule load_training_schedule(TrainCommand& command) {
  const bool named = !is_schedule_file(command.schedule);
  if (named && !schedule_named(command.schedule).synchronous && !command.size.updates) {
    command.size.updates = command.steps;
  }
  const CostSource source = command.costs.any() ? load_costs(command.costs) : CostSource{};
  const auto devices = static_cast<std::int32_t>(command.size.devices.value_or(1));
  return load_schedule(command.schedule, command.size, search_goal(command.costs, source, devices));
}

/// First, last, and some between; beside the mean those of the first jobs.
std::string losses_text(const TrainResult& result) {
  std::vector<TextTable::Column> columns{{"update", '>'}, {"loss", '>'}};
  const std::size_t jobs = std::min(kMostJobs, result.jobs.size());
  for (std::size_t job = 0; job < jobs; ++job) columns.push_back({"job " + std::to_string(job), '>'});
  TextTable table(std::move(columns));
  const std::vector<double>& losses = result.losses;
  const std::size_t rows = std::min(kMostLosses, losses.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t i = rows < 2 ? 0 : row * (losses.size() - 1) / (rows - 1);
    std::vector<std::string> cells{std::to_string(i), fixed_text(losses[i], 4)};
    for (std::size_t job = 0; job < jobs; ++job) cells.push_back(fixed_text(result.jobs[job].losses[i], 4));
    table.add_row(std::move(cells));
  }
  return table.to_string();
}

/// Evaluations on held-out data; empty when there were none.
std::string evaluations_text(const std::vector<Evaluation>& evaluations) {
  if (evaluations.empty()) return "";
  TextTable table({{"updates", '>'}, {"held-out loss", '>'}, {"accuracy", '>'}});
  for (const Evaluation& evaluation : evaluations) {
    table.add_row({std::to_string(evaluation.update), fixed_text(evaluation.loss, 4),
                   fixed_text(100 * evaluation.accuracy, 2) + " %"});
  }
  return "\n" + table.to_string();
}

/// Sentences that were translated at the end; empty when there were none.
std::string translation_text(const std::optional<Translation>& translation) {
  if (!translation) return "";
  return "\ntranslated word by word: BLEU " + fixed_text(100 * translation->bleu, 2) + ", " +
         fixed_text(100 * translation->exact, 2) + " % of " + std::to_string(translation->sentences) +
         " sentences without a mistake\n";
}

/// Losses and evaluations, for the timeline document; a loss that is no number is null.
std::string training_json(const TriedRun& run) {
  const TrainResult& result = run.result;
  TextStream hash;
  hash << std::hex << result.weights_hash;
  nlohmann::ordered_json json = {
      {"losses", result.losses}, {"weights_hash", hash.str()}, {"evaluations", nlohmann::ordered_json::array()}};
  for (const Evaluation& evaluation : result.evaluations) {
    json["evaluations"].push_back({{"updates", evaluation.update},
                                   {"loss", evaluation.loss},
                                   {"accuracy", evaluation.accuracy},
                                   {"targets", evaluation.targets}});
  }
  for (const JobResult& job : result.jobs) json["job_losses"].push_back(job.losses);
  if (run.translation) {
    json["translation"] = {
        {"bleu", run.translation->bleu}, {"exact", run.translation->exact}, {"sentences", run.translation->sentences}};
  }
  return json.dump();
}

/// Updates that validation rejected; empty when there were none.
std::string validation_text(const TrainResult& result) {
  if (result.updates_skipped == 0 && result.updates_rolled_back == 0) return "";
  return "\nupdates skipped because a gradient was not finite: " + std::to_string(result.updates_skipped) +
         "; updates of a stage rolled back and repeated: " + std::to_string(result.updates_rolled_back) + "\n";
}

/// What is trained, on what.
struct Prepared {
  std::unique_ptr<const TrainingData> data;
  std::optional<nccl::Library> links;
  PricedPipeline given;        ///< of a paced run
  std::optional<Cluster> own;  ///< whose links a run by processor time has
  TrainOptions options;
};

void prepare(const TrainCommand& command, const Schedule& schedule, Prepared& prepared) {
  TrainOptions& options = prepared.options;
  options = command.training.options(schedule.num_stages, command.steps.value_or(0));
  options.schedule = schedule;
  command.training.teacher.apply(options, command.training.lora.any());
  if (command.is_paced()) {
    prepared.given = price(load_costs(command.costs), schedule);
    command.pace.apply(prepared.given, schedule, options);
  }
  if (!command.is_paced() && !command.pace.cluster.empty()) {
    options.execution.cluster = &prepared.own.emplace(load_cluster(command.pace.cluster));
  }
  prepared.data = command.training.model.load_data(options.model.network);
  options.data = prepared.data.get();
  if (goes_by_links(command.transport)) {
    const Backend& chosen = backend(options.execution.backend);
    if (!chosen.only_streams) {
      throw Error("--transport nccl: works between GPUs only, expected --backend cuda instead of " +
                  std::string(chosen.name));
    }
    prepared.links = nccl::load_library();
    options.execution.links = &*prepared.links;
  }
  options.observation.checkpoint = {
      .directory = command.checkpoint,
      .every = command.checkpoint_every.value_or(1),
      .resume = command.resume,
      .on_note = [](const std::string& note) { std::cerr << "plumbline: note: " << printable(note) << '\n'; }};
}

/// `given`: what the times of a paced run are. `record`: null in processes that say nothing.
TriedRun run(const TrainCommand& command, TrainOptions options, const std::string& given, RunRecord* record) {
  const Schedule& schedule = options.schedule;
  const std::int64_t total = command.steps.value_or(schedule.num_microbatches / schedule.per_update(StageId{0}));
  if (record != nullptr) record->observe(options, total, !command.is_paced());
  TriedRun tried = train_and_try(options, command.training.final_trial());
  if (!command.is_paced()) return tried;
  TrainResult& result = tried.result;
  result.losses.clear();
  result.jobs.clear();
  if (result.timeline) result.timeline->machine = given + ", paced on " + result.timeline->machine;
  return tried;
}

/// How long the runs of a document took that was repeated; empty for one run.
std::string repeats_text(const TrainResult& result) {
  if (result.document_times.size() < 2 || !result.timeline) return "";
  std::vector<Ticks> times = result.document_times;
  std::ranges::sort(times);
  const auto at = [&](std::size_t percent) {
    return time_text(to_ns(times[(times.size() - 1) * percent / 100], result.timeline->base));
  };
  return "all " + std::to_string(times.size()) + " runs of the schedule: median " + at(50) + ", 10 % below " + at(10) +
         ", 10 % above " + at(90) + "; the figures below are of the last one\n\n";
}

void print_result(const TriedRun& run, bool draws) {
  const TrainResult& result = run.result;
  std::string text = result.losses.empty() ? "" : losses_text(result);
  text += evaluations_text(result.evaluations) + translation_text(run.translation) + validation_text(result);
  if (result.timeline) {
    const Timeline& timeline = *result.timeline;
    text += std::string(text.empty() ? "" : "\n") + repeats_text(result) + figures_text(timeline) + "\n" +
            devices_text(timeline);
    if (!timeline.delays.empty()) text += "\n" + delays_text(timeline.delays);
    if (draws && timeline.spans.size() <= kMostDrawnSpans) {
      text += "\n" + text_timeline(timeline, {.columns = terminal_columns(), .colour = wants_colour()});
    }
  }
  print(text);
}

/// Losses of a run that went astray say nothing any more from some update on.
void note_divergence(const std::vector<double>& losses) {
  const auto first = std::ranges::find_if(losses, [](double loss) { return !std::isfinite(loss); });
  if (first == losses.end()) return;
  std::cerr << "plumbline: note: the loss of update " << first - losses.begin()
            << " is not a finite number: the training diverged; expected a smaller --learning-rate, or --clip-norm\n";
}

/// What would never end, or is no schedule at all.
std::vector<Violation> find_violations(const Schedule& schedule, const ProcessGroup* job,
                                       const std::string& transport) {
  std::vector<Violation> violations = check_schedule(schedule);
  if (!violations.empty() || job == nullptr) return violations;
  const TransferModel model = goes_by_links(transport) ? TransferModel::kRendezvous : TransferModel::kBuffered;
  if (auto hang = find_hang(schedule, model)) violations.push_back(*std::move(hang));
  return violations;
}

/// Everything that one run says and writes.
struct RunOutput {
  ReportFiles files;
  RunRecord record;

  explicit RunOutput(const TrainCommand& command)
      : files(command.reports, command.losses), record(command.losses, command.log) {}

  void write(const TrainCommand& command, const TriedRun& run) {
    const TrainResult& result = run.result;
    if (!result.steady_delays) {
      std::cerr
          << "plumbline: note: the run is too short to become steady, so the delays (tau) that its methods use are "
             "means over all its updates; more --steps give others\n";
    }
    note_divergence(result.losses);
    record.finish(result);
    if (result.timeline) {
      files.write({.steps = {&*result.timeline, 1}}, command.is_paced() ? "" : training_json(run));
    } else if (command.reports.any()) {
      std::cerr
          << "plumbline: note: the run continued in the middle of its schedule, so there is no timeline to report\n";
    }
    if (!command.reports.takes_standard_output() && command.losses != "-") print_result(run, !command.reports.summary);
  }
};

/// In this process of `job`; null: the only one.
ExitStatus train_in(ProcessGroup* job, TrainCommand& command) {
  const bool is_first = job == nullptr || job->is_first();
  Schedule schedule;
  std::vector<Violation> violations;
  Prepared prepared;
  std::optional<RunOutput> output;
  prepare_in(job, [&] {
    schedule = load_training_schedule(command);
    refuse_inference(command.schedule, schedule);
    schedule = decided(command, std::move(schedule));
    violations = find_violations(schedule, job, command.transport);
    if (!violations.empty()) return;
    prepare(command, schedule, prepared);
    if (is_first) output.emplace(command);
  });
  if (!violations.empty()) {
    if (is_first) std::cerr << terminal_text(findings_text(command.schedule, violations));
    return ExitStatus::kNo;
  }
  if (is_first && command.resume && !newest_checkpoint(command.checkpoint)) {
    std::cerr << "plumbline: note: " << printable(command.checkpoint)
              << " has no checkpoint yet, so the run starts from the beginning\n";
  }
  prepared.options.execution.processes = job;
  if (!is_first) prepared.options.observation.checkpoint.on_note = [](const std::string&) {};
  const TriedRun result =
      run(command, prepared.options, prepared.given.description, output ? &output->record : nullptr);
  if (output) output->write(command, result);
  return ExitStatus::kDone;
}

}  // namespace

ExitStatus run_train(const CommandLine& command_line) {
  const std::unique_ptr<ProcessGroup> job = join_job(named_transport(command_line));
  return run_in(job.get(), [&] {
    TrainCommand command;
    bool goes_on = false;
    prepare_in(job.get(), [&] {
      goes_on = command.parse(command_line);
      if (goes_on && command.resume && command.checkpoint.empty()) {
        throw Error("--resume: the folder of the checkpoints is missing, expected --checkpoint DIR");
      }
    });
    return goes_on ? train_in(job.get(), command) : ExitStatus::kDone;
  });
}

}  // namespace plumb
