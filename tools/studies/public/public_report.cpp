#include "tools/studies/public/public_report.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/measured_steps/step_scores.hpp"
#include "tools/studies/public/markdown_text.hpp"
#include "tools/studies/public/public_checks.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

constexpr std::size_t kWorstRows = 12;

/// Rows that are scored together.
struct Group {
  std::vector<std::size_t> jobs;
  StepScore score;
};

template <class Key>
std::map<std::string, Group> groups_by(const PublicResults& results, Key&& key) {
  std::map<std::string, Group> groups;
  for (std::size_t k = 0; k < results.jobs.size(); ++k) {
    const std::string name = key(results.jobs[k].row);
    if (!name.empty()) groups[name].jobs.push_back(k);
  }
  for (auto& [name, group] : groups) {
    std::vector<double> predicted;
    std::vector<double> measured;
    for (const std::size_t k : group.jobs) {
      predicted.push_back(results.predicted_s[k]);
      measured.push_back(results.jobs[k].row.step_s);
    }
    group.score = step_score(predicted, measured);
  }
  return groups;
}

std::string rank_text(double rank) { return std::isnan(rank) ? "-" : fixed_text(rank, 3); }

double error_of(const PublicResults& results, std::size_t k) {
  return results.predicted_s[k] / results.jobs[k].row.step_s - 1;
}

std::vector<std::string> cells_of(const PublicResults& results, const std::string& name, const Group& group) {
  const StepScore& score = group.score;
  return {
      name,
      std::to_string(score.rows),
      percent(score.mape),
      signed_percent(score.bias),
      percent(score.median),
      rank_text(score.rank_correlation),
      results.jobs[group.jobs[score.worst]].row.id + " " + signed_percent(error_of(results, group.jobs[score.worst]))};
}

std::string markdown_table(const PublicResults& results, const std::map<std::string, Group>& groups,
                           const std::string& title) {
  std::string text = markdown_row({title, "rows", "MAPE", "bias", "median", "rank correlation", "worst row"});
  text += "|---|---:|---:|---:|---:|---:|---|\n";
  for (const auto& [name, group] : groups) text += markdown_row(cells_of(results, name, group));
  return text + "\n";
}

std::string depth_group(const MeasuredStep& row) {
  return public_group(row) + (row.pipeline > 1 ? ", pp>1" : ", pp=1");
}

std::string half_of(const MeasuredStep& row) {
  return depth_group(row) + (row.fits_constants() ? ", fitted half" : ", other half");
}

std::string schedule_group(const MeasuredStep& row) {
  return row.pipeline > 1 ? row.data + ", " + row.schedule : std::string();
}

/// The eight end-to-end times that calculon predicts, too.
std::string with_published(const MeasuredStep& row) {
  return std::isnan(row.published_error) ? std::string() : row.data;
}

double published_mape(const PublicResults& results, const Group& group) {
  double sum = 0;
  for (const std::size_t k : group.jobs) sum += std::abs(results.jobs[k].row.published_error);
  return sum / static_cast<double>(group.jobs.size());
}

std::string published_table(const PublicResults& results) {
  std::string text = "| rows that another tool predicted, too | rows | its MAPE | ours |\n|---|---:|---:|---:|\n";
  for (const auto& [name, group] : groups_by(results, with_published)) {
    text += markdown_row({name, std::to_string(group.score.rows),
                          fixed_text(100 * published_mape(results, group), 2) + " %",
                          fixed_text(100 * group.score.mape, 2) + " %"});
  }
  return text + "\n";
}

std::string worst_table(const PublicResults& results) {
  std::vector<std::size_t> order(results.jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(error_of(results, a)) > std::abs(error_of(results, b));
  });
  order.resize(std::min(order.size(), kWorstRows));
  std::string text =
      "| worst rows | measured | predicted | error | tp x pp x dp, microbatch, microbatches |\n"
      "|---|---:|---:|---:|---|\n";
  for (const std::size_t k : order) {
    const MeasuredStep& row = results.jobs[k].row;
    text += markdown_row({row.id, number_text(row.step_s) + " s", number_text(results.predicted_s[k]) + " s",
                          signed_percent(error_of(results, k)),
                          std::to_string(row.tensor) + " x " + std::to_string(row.pipeline) + " x " +
                              std::to_string(row.data_degree) + ", " + std::to_string(row.microbatch_size) + ", " +
                              std::to_string(row.num_microbatches)});
  }
  return text + "\n";
}

std::string refused_table(const PublicResults& results) {
  std::string text = "| not predicted | rows | why |\n|---|---:|---|\n";
  for (const auto& [data, reasons] : results.refused) {
    for (const auto& [why, count] : reasons) text += markdown_row({data, std::to_string(count), why});
  }
  return text;
}

}  // namespace

std::string public_text(const PublicResults& results) {
  TextTable table(
      {{"data set"}, {"rows", '>'}, {"MAPE", '>'}, {"bias", '>'}, {"median", '>'}, {"ranks", '>'}, {"worst row"}});
  for (const auto& [name, group] : groups_by(results, depth_group)) table.add_row(cells_of(results, name, group));
  for (const auto& [name, group] : groups_by(results, half_of)) table.add_row(cells_of(results, name, group));
  return table.to_string() + "\n" + public_checks(results);
}

std::string public_markdown(const PublicResults& results) {
  return public_checks(results) + markdown_table(results, groups_by(results, depth_group), "data set") +
         markdown_table(results, groups_by(results, half_of), "by half") +
         markdown_table(results, groups_by(results, schedule_group), "by schedule, pp>1") + published_table(results) +
         worst_table(results) + refused_table(results);
}

std::string public_csv(const PublicResults& results) {
  std::string text = "row_id,group,half,measured_s,predicted_s,error,left_out_s\n";
  for (std::size_t k = 0; k < results.jobs.size(); ++k) {
    const MeasuredStep& row = results.jobs[k].row;
    text += row.id + ",\"" + depth_group(row) + "\"," + (row.fits_constants() ? "fitted" : "other") + "," +
            number_text(row.step_s, 6) + "," + number_text(results.predicted_s[k], 6) + "," +
            fixed_text(error_of(results, k), 4) + "," + number_text(results.left_out_s[k], 6) + "\n";
  }
  return text;
}

Plot public_plot(const PublicResults& results) {
  Plot plot{.title = "Predicted and measured step times of public runs",
            .note = "one table of constants per type of GPU",
            .x = {.title = "measured (s)", .logarithmic = true},
            .y = {.title = "predicted (s)", .logarithmic = true},
            .series = {},
            .marks = {}};
  double least = 1e30;
  double most = 0;
  for (const auto& [name, group] : groups_by(results, public_group)) {
    std::vector<std::size_t> order = group.jobs;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return results.jobs[a].row.step_s < results.jobs[b].row.step_s; });
    PlotSeries series{.name = name, .x = {}, .y = {}, .colour = plot.series.size(), .points = true, .line = false};
    for (const std::size_t k : order) {
      series.x.push_back(results.jobs[k].row.step_s);
      series.y.push_back(results.predicted_s[k]);
      least = std::min(least, results.jobs[k].row.step_s);
      most = std::max(most, results.jobs[k].row.step_s);
    }
    plot.series.push_back(std::move(series));
  }
  plot.series.push_back({.name = "equal", .x = {least, most}, .y = {least, most}, .dashed = true});
  return plot;
}

}  // namespace plumb
