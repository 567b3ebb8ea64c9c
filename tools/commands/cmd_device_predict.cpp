#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/device_commands.hpp"
#include "tools/measured_steps/measured_memory.hpp"
#include "tools/measured_steps/measured_table.hpp"
#include "tools/measured_steps/stage_times.hpp"
#include "tools/measured_steps/step_scores.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

struct PredictArguments {
  std::vector<std::string> rows;
  std::string cluster;
  std::string gpu;
  std::string rates;
  std::string stages;
  std::string json;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "device predict --rows FILE.csv [options]",
        "Predicts measured training steps, one row per run, from their configurations alone, and says how "
        "far the\npredictions are from what was measured.");
    parser.texts("rows", rows, "FILE", "measured steps; may be given several times (columns: tools/commands/device.md)")
        .text("cluster", cluster, "NAME|FILE",
              "the machine that they ran on, in the size of each row (default: as their columns and recipes say)")
        .text("gpu", gpu, "NAME", "only rows whose column gpu is this (default: all)")
        .text("rates", rates, "FILE", "speeds that kernels reach (default: built in for each device's name)")
        .text("stages", stages, "FILE", "measured passes of stages of these runs, which are predicted as well")
        .text("json", json, "FILE", "write every row as JSON (- is standard output)");
    return parse_command_line(parser, arguments);
  }
};

Json or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

/// What of a row tells it from others.
Json row_json(const MeasuredStep& row) {
  return {{"row_id", row.id},
          {"data", row.data},
          {"source", row.source},
          {"model", row.model},
          {"layers", row.layers},
          {"hidden", row.hidden},
          {"sequence", row.sequence},
          {"vocabulary", row.vocabulary},
          {"gpu", row.gpu},
          {"num_gpus", row.num_gpus},
          {"tensor", row.tensor},
          {"pipeline", row.pipeline},
          {"data_degree", row.data_degree},
          {"microbatch_size", row.microbatch_size},
          {"num_microbatches", row.num_microbatches},
          {"schedule", row.schedule},
          {"fits_constants", row.fits_constants()},
          {"published_error", or_null(row.published_error)}};
}

struct PredictedTable {
  MeasuredTable table;
  std::vector<double> step_s;  ///< by job
  std::vector<StagePassOfJob> passes;
  std::vector<double> pass_s;  ///< by pass
  MeasuredMemory memory;
};

PredictedTable predicted_table(const PredictArguments& arguments) {
  const std::optional<Cluster> cluster =
      arguments.cluster.empty() ? std::nullopt : std::optional(load_cluster(arguments.cluster));
  PredictedTable all{.table = measured_table(arguments.rows, cluster, arguments.gpu),
                     .step_s = {},
                     .passes = {},
                     .pass_s = {},
                     .memory = {}};
  std::optional<KernelRates> rates;
  if (!arguments.rates.empty()) {
    rates = kernel_rates_from_json(read_text_file(arguments.rates, kKernelRatesFile), arguments.rates);
  }
  const KernelRates* given = rates ? &*rates : nullptr;
  all.step_s = predicted_steps_s(all.table.jobs, given);
  if (!arguments.stages.empty()) {
    all.passes = passes_of(all.table.jobs, measured_stage_passes(read_text_file(arguments.stages), arguments.stages));
    all.pass_s = predicted_passes_s(all.table.jobs, all.passes, given);
  }
  all.memory = measured_memory(all.table.memory_jobs);
  return all;
}

std::string predicted_json(const PredictedTable& all) {
  Json json{{"format", "plumbline-predicted-steps"}, {"version", 1}};
  json["steps"] = Json::array();
  for (std::size_t k = 0; k < all.table.jobs.size(); ++k) {
    const MeasuredJob& job = all.table.jobs[k];
    Json step = row_json(job.row);
    step["device"] = job.cluster.devices.front().name;
    step["measured_s"] = job.row.step_s;
    step["predicted_s"] = all.step_s[k];
    json["steps"].push_back(std::move(step));
  }
  json["not_predicted"] = Json::array();
  for (const auto& [row, why] : all.table.refused) {
    json["not_predicted"].push_back({{"row_id", row.id}, {"data", row.data}, {"why", why}});
  }
  json["passes"] = Json::array();
  for (std::size_t k = 0; k < all.passes.size(); ++k) {
    const MeasuredStagePass& pass = all.passes[k].measured;
    json["passes"].push_back({{"row_id", pass.row_id},
                              {"stage", pass.stage ? Json(*pass.stage) : Json()},
                              {"pass", std::string(1, pass.pass)},
                              {"measured_s", pass.seconds},
                              {"predicted_s", all.pass_s[k]}});
  }
  json["memory"] = Json::array();
  for (std::size_t k = 0; k < all.memory.jobs.size(); ++k) {
    const MeasuredStep& row = all.memory.jobs[k].row;
    Json peak = row_json(row);
    peak["measured_gib"] = row.memory_gib;
    peak["reserved_gib"] = row.reserved_gib;
    peak["predicted_gib"] = all.memory.predicted_gib[k];
    json["memory"].push_back(std::move(peak));
  }
  return json.dump(1) + "\n";
}

void add_score(TextTable& table, const std::string& name, const std::vector<std::string>& ids,
               const std::vector<double>& predicted, const std::vector<double>& measured) {
  const StepScore score = step_score(predicted, measured);
  const double worst = predicted[score.worst] / measured[score.worst] - 1;
  table.add_row({name, std::to_string(score.rows), percent_text(score.mape), percent_text(score.bias),
                 percent_text(score.median), ids[score.worst] + " " + percent_text(worst)});
}

std::string predicted_text(const PredictedTable& all) {
  struct Figures {
    std::vector<std::string> ids;
    std::vector<double> predicted;
    std::vector<double> measured;
    void add(const std::string& id, double predicted_value, double measured_value) {
      ids.push_back(id);
      predicted.push_back(predicted_value);
      measured.push_back(measured_value);
    }
  };
  std::map<std::string, Figures> groups;
  for (std::size_t k = 0; k < all.step_s.size(); ++k) {
    const MeasuredStep& row = all.table.jobs[k].row;
    groups[row.data].add(row.id, all.step_s[k], row.step_s);
  }
  for (std::size_t k = 0; k < all.pass_s.size(); ++k) {
    const StagePassOfJob& pass = all.passes[k];
    groups[all.table.jobs[pass.job].row.data + ", stages"].add(pass.measured.row_id, all.pass_s[k],
                                                               pass.measured.seconds);
  }
  for (std::size_t k = 0; k < all.memory.jobs.size(); ++k) {
    const MeasuredStep& row = all.memory.jobs[k].row;
    groups[row.data + ", memory"].add(row.id, all.memory.predicted_gib[k], row.memory_gib);
  }
  TextTable table({{"rows of"}, {"rows", '>'}, {"mean error", '>'}, {"bias", '>'}, {"median", '>'}, {"worst row"}});
  for (const auto& [name, figures] : groups) add_score(table, name, figures.ids, figures.predicted, figures.measured);
  std::string text = table.to_string();
  if (!all.table.refused.empty()) {
    text += "\n" + std::to_string(all.table.refused.size()) + " rows are not predicted, the first of them " +
            all.table.refused.front().first.id + ": " + all.table.refused.front().second + "\n";
  }
  return text;
}

}  // namespace

ExitStatus run_device_predict(const CommandLine& command_line) {
  PredictArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  if (arguments.rows.empty()) throw Error("device predict: expected --rows FILE.csv, a table of measured steps");
  std::optional<OutputFile> json;
  if (!arguments.json.empty()) json.emplace(arguments.json);
  const PredictedTable all = predicted_table(arguments);
  if (json) json->finish(predicted_json(all));
  if (arguments.json != "-") print(predicted_text(all));
  return ExitStatus::kDone;
}

}  // namespace plumb
