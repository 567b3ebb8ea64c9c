#include "tools/studies/planner_scores.hpp"
#include "tools/options/plan_question.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/planner_seeds.hpp"
#include "sim/planners/planner.hpp"
#include "tools/plans/plan_search_text.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/results_folder.hpp"

namespace plumb {
namespace {

constexpr std::string_view kInputs = "planners/inputs/";

PlanQuestion question_of(const ScoredProfile& asked) {
  PlanSearchArguments arguments;
  arguments.all = true;  // planners put stages on unlike numbers of devices, which no system runs
  arguments.network = asked.network.starts_with(kInputs) ? in_results(asked.network).string() : asked.network;
  arguments.cluster = asked.cluster;
  arguments.batch = 1;
  const PlanQuestion known = plan_question(arguments);  // of one sample, to learn how many a microbatch has
  arguments.batch = asked.microbatches * known.network.samples;
  return plan_question(arguments);
}

/// "pipedream/vgg16": without folders of ours and without what is the same for all.
std::string short_name(const std::string& network) {
  std::string name = network.starts_with(kInputs) ? network.substr(kInputs.size()) : network;
  for (const std::string_view tail : {"/graph.txt", ".txt", ".json"}) {
    if (name.ends_with(tail)) return name.substr(0, name.size() - tail.size());
  }
  return name;
}

std::string ratio_text(double ratio) { return fixed_text(ratio, 3); }

std::string profile_row(const ProfileScores& scores) {
  std::string best = "-";
  std::int64_t best_ns = 0;
  for (const auto& [method, step_ns] : scores.their_ns) {
    if (step_ns == 0 || (best_ns != 0 && step_ns >= best_ns)) continue;
    best = method;
    best_ns = step_ns;
  }
  const auto ms = [](std::int64_t ns) { return ns == 0 ? "-" : fixed_text(static_cast<double>(ns) / 1e6, 3); };
  return "| `" + short_name(scores.asked.network) + "` | " + std::to_string(scores.layers) + " | " + ms(scores.our_ns) +
         " | " + percent_text(scores.gap) + " | " + scores.our_plan + " | " + best + " | " + ms(best_ns) + " | " +
         (scores.holds() ? "yes" : "no") + " |\n";
}

std::string method_row(std::string_view method, const std::vector<ProfileScores>& scores) {
  int answered = 0;
  int equal = 0;
  double logs = 0;
  double worst = 1;
  double least = std::numeric_limits<double>::infinity();
  for (const ProfileScores& one : scores) {
    const auto found = one.their_ns.find(std::string(method));
    if (found == one.their_ns.end() || found->second == 0 || one.our_ns == 0) continue;
    const double ratio = static_cast<double>(found->second) / static_cast<double>(one.our_ns);
    ++answered;
    equal += found->second == one.our_ns ? 1 : 0;
    logs += std::log(ratio);
    worst = std::max(worst, ratio);
    least = std::min(least, ratio);
  }
  if (answered == 0) return "| " + std::string(method) + " | 0 | | | | |\n";
  return "| " + std::string(method) + " | " + std::to_string(answered) + " | " + std::to_string(equal) + " | " +
         ratio_text(least) + " | " + ratio_text(std::exp(logs / answered)) + " | " + ratio_text(worst) + " |\n";
}

}  // namespace

bool ProfileScores::holds() const {
  return std::all_of(their_ns.begin(), their_ns.end(), [&](const auto& theirs) {
    return theirs.second == 0 || (our_ns != 0 && our_ns <= theirs.second);
  });
}

std::vector<ScoredProfile> scored_profiles(std::string_view json, std::string_view file_name) {
  const JsonDocument document{std::string(json), std::string(file_name)};
  std::vector<ScoredProfile> profiles;
  for (const JsonValue& item : document.root().elements()) {
    item.allow_only({"network", "cluster", "microbatches"});
    profiles.push_back({.network = std::string(item.at("network").text()),
                        .cluster = std::string(item.at("cluster").text()),
                        .microbatches = item.at("microbatches").integer(1, 1'000'000)});
  }
  return profiles;
}

ProfileScores score_profile(const ScoredProfile& asked, std::int64_t simulations) {
  const PlanQuestion question = question_of(asked);
  ProfileScores scores{.asked = asked, .layers = question.network.layers.size()};
  std::vector<PipelinePlan> seeds;
  for (PlannerSeed& seed : planner_seeds(question.job, question.ranges)) {
    std::int64_t& best_ns = scores.their_ns[seed.method];
    try {
      const ScoredPlan score = simulate_plan(seed.plan, question.job.price).score;
      if (score.fits() && (best_ns == 0 || score.step_ns < best_ns)) best_ns = score.step_ns;
    } catch (const Error&) {  // cannot be run with so few microbatches
    }
    seeds.push_back(std::move(seed.plan));
  }
  const PlanAnswer answer = search_plan(question.job, question.ranges, {.most_simulations = simulations}, seeds);
  if (answer.best.empty()) return scores;
  scores.our_ns = answer.best.front().step_ns;
  scores.gap = answer.gap();
  scores.our_plan = plan_line(answer.best.front().plan);
  return scores;
}

std::string planner_scores_markdown(const std::vector<ProfileScores>& scores) {
  std::string text =
      "| profile | layers | our step, ms | gap at most | our plan | best of theirs | its step, ms | holds |\n"
      "|---|---:|---:|---:|---|---|---:|---|\n";
  for (const ProfileScores& one : scores) text += profile_row(one);
  text +=
      "\n| method | profiles | as fast as ours | its step / ours: least | geometric mean | most |\n"
      "|---|---:|---:|---:|---:|---:|\n";
  for (const Planner& planner : planners()) text += method_row(planner.name, scores);
  return text;
}

}  // namespace plumb
