#include "tools/studies/public/public_fit.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tools/measured_steps/rates_fit.hpp"
#include "tools/terminal/results_folder.hpp"

namespace plumb {
namespace {

/// How strongly a fit is drawn to the rates that it starts from, which were measured on the same type of chip.
constexpr double kPull = 0.02;

/// The groups that show what a fit is worth to somebody who took no part in it.
constexpr std::array<std::string_view, 2> kNeverFitted{"bigscience", "vocabulary-rerun"};

/// A name for files: letters, digits and dashes.
std::string slug_of(const std::string& group) {
  std::string slug;
  for (const char letter : group) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0;
    if (plain || (!slug.empty() && slug.back() != '-')) slug += plain ? letter : '-';
  }
  return slug;
}

/// Rates that no row of `group` has fitted; none where the shipped rates are no fit. The second run of the same jobs is
/// left out with the first.
std::optional<KernelRates> left_out_rates(const std::string& group) {
  const std::string slug = group == "vocabulary-rerun" ? "vocabulary-parallel" : slug_of(group);
  const std::string file = (in_results("public") / "left-out" / (slug + ".json")).string();
  if (!std::filesystem::exists(file)) return std::nullopt;
  return kernel_rates_from_json(read_text_file(file), file);
}

std::vector<MeasuredStagePass> all_passes() {
  return measured_stage_passes(read_text_file(in_results("public/stage-times.csv").string()), "stage-times.csv");
}

/// The rows that fit the constants. Of a large group some are enough, since every group counts the same. Searched
/// orders take no part: their steps jump when a constant moves, and a fit that follows slopes stops there.
std::vector<MeasuredJob> fitting_jobs(const PublicResults& all, const std::string& without) {
  std::vector<MeasuredJob> half;
  std::map<std::string, std::size_t> seen;
  constexpr std::size_t kPlenty = 40;
  std::map<std::string, std::size_t> sizes;
  for (const MeasuredJob& job : all.jobs) ++sizes[public_group(job.row)];
  for (const MeasuredJob& job : all.jobs) {
    const std::string group = public_group(job.row);
    if (std::ranges::find(kNeverFitted, group) != kNeverFitted.end()) continue;
    if (!job.row.fits_constants() || group == without || job.row.schedule.starts_with("ZB-")) continue;
    const std::size_t stride = 1 + sizes[group] / kPlenty;
    if (seen[group]++ % stride == 0) half.push_back(job);
  }
  return half;
}

/// What a fit is to meet: steps, then times of stages. Both count the same, and so does every group, however many rows
/// it has.
struct FitTargets {
  std::vector<double> seconds;
  std::vector<double> weights;
};

FitTargets targets_of(const std::vector<MeasuredJob>& jobs, const std::vector<StagePassOfJob>& passes) {
  FitTargets targets;
  std::vector<std::string> groups;
  for (const MeasuredJob& job : jobs) {
    targets.seconds.push_back(job.row.step_s);
    groups.push_back(public_group(job.row));
  }
  for (const StagePassOfJob& pass : passes) {
    targets.seconds.push_back(pass.measured.seconds);
    groups.push_back(public_group(jobs[pass.job].row) + ", stages");
  }
  std::map<std::string, double> sizes;
  for (const std::string& group : groups) sizes[group] += 1;
  for (const std::string& group : groups) targets.weights.push_back(1 / sizes[group]);
  return targets;
}

std::string described(const KernelRates& rates, std::size_t passes, const PublicFit& fit, const KernelRates& start) {
  std::string text = "fitted to " + std::to_string(rates.fitted_rows) + " steps and " + std::to_string(passes) +
                     " times of stages of results/public";
  if (!fit.without.empty()) text += " without " + fit.without;
  text += ", from " + start.source;
  for (const std::string_view name : constants_at_bounds(rates)) text += "; at its bound: " + std::string(name);
  return text;
}

}  // namespace

KernelRates fitted_public_rates(const PublicResults& all, const PublicFit& fit) {
  const std::vector<MeasuredJob> half = fitting_jobs(all, fit.without);
  if (half.empty()) throw Error("--fit: no rows of '" + fit.gpu + "', expected the beginning of a GPU's name");
  const std::vector<StagePassOfJob> passes = passes_of(half, all_passes());
  const FitTargets targets = targets_of(half, passes);
  FitOptions options;
  options.rounds = static_cast<int>(fit.rounds.value_or(8));
  options.pull = kPull;
  options.weights = targets.weights;
  options.constants = fit.constants;
  const Predict predict = [&](const KernelRates& rates) {
    std::vector<double> predicted = predicted_steps_s(half, &rates);
    const std::vector<double> stages = predicted_passes_s(half, passes, &rates);
    predicted.insert(predicted.end(), stages.begin(), stages.end());
    return predicted;
  };
  const KernelRates start = fit.start.empty() ? kernel_rates_of(half.front().cluster.devices.front())
                                              : kernel_rates_from_json(read_text_file(fit.start), fit.start);
  KernelRates rates = fitted_rates(predict, targets.seconds, start, options);
  rates.basis = RatesBasis::kFitted;
  rates.fitted_rows = static_cast<std::int64_t>(half.size());
  rates.source = described(rates, passes.size(), fit, start);
  return rates;
}

void predict_public(PublicResults& results) {
  results.passes = passes_of(results.jobs, all_passes());
  results.predicted_s = results.left_out_s = predicted_steps_s(results.jobs);
  results.predicted_passes_s = results.left_out_passes_s = predicted_passes_s(results.jobs, results.passes);
  std::map<std::string, std::optional<KernelRates>> rates;
  for (std::size_t k = 0; k < results.jobs.size(); ++k) {
    const std::string group = public_group(results.jobs[k].row);
    if (!rates.contains(group)) rates[group] = left_out_rates(group);
    if (rates[group]) results.left_out_s[k] = predicted_step_s(results.jobs[k], *rates[group]);
  }
  for (std::size_t k = 0; k < results.passes.size(); ++k) {
    const std::optional<KernelRates>& own = rates[public_group(results.jobs[results.passes[k].job].row)];
    if (own) results.left_out_passes_s[k] = predicted_passes_s(results.jobs, {results.passes[k]}, &*own).front();
  }
}

}  // namespace plumb
