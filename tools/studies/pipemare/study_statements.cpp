#include "tools/studies/pipemare/study_statements.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "tools/studies/pipemare/practice_tables.hpp"
#include "tools/studies/pipemare/study_report.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

const std::vector<std::string> kPipeMare{"t1", "t1-t2", "t1-t2-t3"};
/// Without updates that are flushed, so that a factor of updates is one of time.
const std::vector<std::string> kFlushFreePipeMare{"t1", "t1-t2"};
constexpr const char* kNoRuns = "not run yet";

/// The difference that the paper calls the same quality, in points of accuracy (BLEU there).
constexpr double kSameQuality = 0.009;

std::string simulated_text(const ModelStudy& models, const std::string& name) {
  const auto found = std::ranges::find(models.figures, name, &ModelFigure::name);
  if (found == models.figures.end()) return "no such figure for this network";
  std::string text = fixed_text(found->formula, 2) + " by the formula";
  if (found->simulated) text += ", " + fixed_text(*found->simulated, 2) + " simulated";
  return text;
}

std::string seeds_text(const MethodFigures& of) {
  return std::to_string(of.runs) + (of.runs == 1 ? " seed" : " seeds");
}

/// "0.12 ± 0.30 points" or "0.0213 ± 0.0040 nats", behind the synchronous run of the same seed.
std::string gap_text(const MethodFigures& of) {
  if (!of.gap) return "diverged";
  const bool accuracy = of.task->by_accuracy;
  std::string text = fixed_text(of.gap->mean * (accuracy ? 100 : 1), accuracy ? 2 : 3);
  if (of.gap->half_width) text += " ± " + fixed_text(*of.gap->half_width * (accuracy ? 100 : 1), accuracy ? 2 : 3);
  text += accuracy ? " points" : " nats";
  return text + " behind at " + of.setting.rate + " (" + seeds_text(of) + ")";
}

/// `describe` for every task whose first method has found its best rate; "not run yet" where none has. What is compared
/// at a rate that nobody chose says nothing.
std::string by_task(const Study& study, const std::vector<StudyRun>& runs,
                    const std::function<std::string(const StudyTask&, const std::vector<MethodFigures>&)>& describe) {
  std::string text;
  for (const StudyTask& task : study.tasks) {
    const std::vector<MethodFigures> figures = best_figures(study, runs, task);
    const MethodFigures* first = figures_of(figures, study.methods.front().name);
    if (first == nullptr || !first->bracketed) continue;
    const std::string of_task = describe(task, figures);
    if (!of_task.empty()) text += (text.empty() ? "" : "; ") + task.name + ": " + of_task;
  }
  return text.empty() ? kNoRuns : text;
}

std::string gaps_of(const std::vector<MethodFigures>& figures, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    const MethodFigures* of = figures_of(figures, name);
    if (of == nullptr) continue;
    text += (text.empty() ? "" : ", ") + of->method->title + " " + gap_text(*of);
    if (!of->bracketed) text += ", where the best rate may lie beyond";
  }
  return text;
}

/// What a method comes to at the best rate of the first method; nothing where it was not run there.
std::string at_first_rate(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs,
                          const std::string& name) {
  const auto method = std::ranges::find(study.methods, name, &StudyMethod::name);
  const std::optional<std::string> rate = best_rate(task, study.methods.front(), runs);
  if (method == study.methods.end() || !rate) return "";
  const MethodFigures of = figures_at(study, runs, task, *method, rule_setting(task, *method, *rate));
  if (of.runs == 0) return "";
  std::string text = " (at the synchronous " + *rate + ": ";
  return text + (of.gap ? quality_text(task, of.quality) + (task.by_accuracy ? " %" : " nats") : "diverged") + ")";
}

/// Of those that did not diverge, the one that is least behind, first of all of those whose best rate is known; null
/// without any.
const MethodFigures* closest(const std::vector<MethodFigures>& figures, const std::vector<std::string>& names) {
  const MethodFigures* best = nullptr;
  for (const std::string& name : names) {
    const MethodFigures* of = figures_of(figures, name);
    if (of == nullptr || !of->gap || (best != nullptr && best->bracketed && !of->bracketed)) continue;
    const bool better_known = best != nullptr && of->bracketed && !best->bracketed;
    if (best == nullptr || better_known || of->gap->mean < best->gap->mean) best = of;
  }
  return best;
}

std::string stable_text(const StudyTask& task, const Study& study, const std::vector<StudyRun>& runs,
                        const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    const auto method = std::ranges::find(study.methods, name, &StudyMethod::name);
    if (method == study.methods.end()) continue;
    const StableRates rates = stable_rates(task, *method, runs);
    if (!rates.highest && !rates.first_diverged) continue;
    text += (text.empty() ? "" : ", ") + method->title + " " + rates.highest.value_or("at no rate");
  }
  return text;
}

const std::string& first_name(const Study& study) { return study.methods.front().name; }

/// By how much a method ends better than another, paired by seed, both at their own best rates; diverged runs count as
/// what they came to. Nothing without a common seed.
std::string ahead_text(const std::vector<StudyRun>& runs, const MethodFigures& of, const MethodFigures& other) {
  std::vector<double> ahead;
  const StudyTask& task = *of.task;
  for (const StudyRun& run : runs) {
    if (!run.is(task, *of.method) || run.setting != of.setting || run.points.empty()) continue;
    const PlannedRun same{&task, other.method, other.setting, run.seed};
    const auto found = std::ranges::find_if(runs, [&](const StudyRun& at) { return same.is(at); });
    if (found == runs.end() || found->points.empty()) continue;
    const double more = quality_of(task, run.points.back()) - quality_of(task, found->points.back());
    ahead.push_back(task.by_accuracy ? 100 * more : -more);
  }
  if (ahead.empty()) return "";
  const SeedMean mean = estimate(ahead);
  const int digits = task.by_accuracy ? 2 : 3;
  std::string text = of.method->title + " is ahead of " + other.method->title + " by " + fixed_text(mean.mean, digits);
  if (mean.half_width) text += " ± " + fixed_text(*mean.half_width, digits);
  return text + (task.by_accuracy ? " points" : " nats");
}

/// Of all variants of PipeMare against naive training.
std::string ahead_of_naive(const std::vector<StudyRun>& runs, const std::vector<MethodFigures>& figures) {
  std::string text;
  const MethodFigures* naive = figures_of(figures, "naive");
  for (const std::string& name : kPipeMare) {
    const MethodFigures* of = figures_of(figures, name);
    if (of == nullptr || naive == nullptr || !of->bracketed || !naive->bracketed) continue;
    const std::string ahead = ahead_text(runs, *of, *naive);
    if (!ahead.empty()) text += (text.empty() ? "" : ", ") + ahead;
  }
  return text;
}

void add_model_statements(std::vector<Statement>& all, const ModelStudy& models) {
  all.push_back({"Up to 2.7x less memory than PipeDream (weights, gradients, optimizer)",
                 "ResNet-50 in 107 stages, N = 8, without T2: " + simulated_text(models, "memory-pipedream") +
                     " of mean delays, " + simulated_text(models, "memory-pipedream-newest") + " of whole versions" +
                     "; with T2 " + simulated_text(models, "memory-pipedream-t2"),
                 "The formula counts mean delays. A stash holds whole versions and the newest beside them, so the "
                 "simulator, which counts buffers, finds a larger factor (model.md). With T2, PipeMare keeps a fourth "
                 "copy and the factor is that of the first version of the paper, 2.0."});
  all.push_back({"4.3x the pipeline utilization of GPipe",
                 "P = 107, N = 32: " + simulated_text(models, "utilization-n32"),
                 "The factor is (N + P - 1) / N and says nothing about 1F1B or zero-bubble with more microbatches; "
                 "N is not published with it."});
  all.push_back({"14.3x (MLSys page)", "P = 107, N = 8: " + simulated_text(models, "utilization-n8"),
                 "The same formula at N = 8, the cell that also has the 2.7x. It is a factor of utilization."});
  all.push_back({"Recompute lowers the activations from P^2 to about 2 P^(3/2)",
                 "P = 107: " + simulated_text(models, "activations-p107") + " of those without recompute",
                 "Simulated stashes count both microbatches of an overlapped pair."});
}

void add_quality_statements(std::vector<Statement>& all, const Study& study, const std::vector<StudyRun>& runs) {
  const auto gaps = [&](const std::vector<std::string>& names) {
    return by_task(study, runs, [&](const StudyTask& task, const std::vector<MethodFigures>& figures) {
      return gaps_of(figures, names) + (names.empty() ? "" : at_first_rate(study, task, runs, names.front()));
    });
  };
  all.push_back({"The quality of synchronous training (within 0.9 points; IWSLT BLEU 34.5 of 34.5, CIFAR alike)",
                 by_task(study, runs,
                         [&](const StudyTask&, const std::vector<MethodFigures>& figures) -> std::string {
                           const MethodFigures* best = closest(figures, kPipeMare);
                           if (best == nullptr) return "every PipeMare run diverged";
                           const double most = best->gap->mean + best->gap->half_width.value_or(0);
                           std::string text = best->method->title + " " + gap_text(*best);
                           if (!best->bracketed) text += ", where the best rate may lie beyond";
                           if (!best->task->by_accuracy) return text;
                           if (!best->gap->half_width) return text + ", too few seeds for an interval";
                           return text + (most <= kSameQuality ? ", within" : ", not shown to be within");
                         }),
                 "Every method here has its own best rate and the same number of updates. Our tasks are small and "
                 "our runs short; the paper trains for epochs, where a slow start is made up for."});
  all.push_back({"Asynchronous training without corrections fails; T1 is necessary for convergence",
                 gaps({"naive", "t1"}),
                 "Where naive training is within reach of T1, it is because it chose a lower rate: T1 divides the "
                 "rate of early stages by their delay, which a lower base rate does for all stages. The paper keeps "
                 "the synchronous rate for all methods."});
  all.push_back({"What all three corrections are for: to train asynchronously at all",
                 by_task(study, runs,
                         [&](const StudyTask&, const std::vector<MethodFigures>& figures) {
                           return ahead_of_naive(runs, figures);
                         }),
                 "Each at its own best rate, paired by seed. An interval that holds 0 says that our seeds do not show "
                 "that the corrections help where naive training may choose its rate."});
  all.push_back(
      {"Fine-grained PipeDream does not learn the Transformer (BLEU 0.0)", gaps({"pipedream"}),
       "A stash makes gradients consistent but not younger. Our PipeDream has a rate of its own, the paper's that "
       "of synchronous training."});
  all.push_back({"T2 closes the rest of the gap", gaps({"t1", "t1-t2"}),
                 "T2 repairs the discrepancy between forward and backward weights. It matters where that discrepancy "
                 "limits the rate, and costs one more copy of the weights."});
  all.push_back({"Some synchronous updates first (T3) help where T1 and T2 do not suffice", gaps({"t1-t2", "t1-t2-t3"}),
                 "T3 gives the start the synchronous rate. Its updates cost the utilization of GPipe (table of "
                 "currencies)."});
  all.push_back({"Delays cost learning rate, as O(1/tau) (section 3)",
                 by_task(study, runs,
                         [&](const StudyTask& task, const std::vector<MethodFigures>&) {
                           return "no divergence up to " +
                                  stable_text(task, study, runs, {first_name(study), "naive", "pipedream", "t1-t2"});
                         }),
                 "The bound is for one weight and a quadratic loss; it is beside the grid. A network has many "
                 "curvatures, and Adam rescales each, so only the order of the methods can be compared."});
}

std::string when_it_pays(const std::vector<MeasuredFactor>& measured) {
  if (measured.empty()) return "How many more updates PipeMare needs was not measured.";
  return "PipeMare (the better of T1 and T1 + T2) needs more updates to the target than synchronous training, by the "
         "delay of its first stage: " +
         factors_text(measured) + "; so it pays only where 1F1B and zero-bubble idle more than that.";
}

/// "1.57 points (naive 9.66)": how far the best variant of PipeMare, and naive training, end behind; at most, where a
/// better rate may lie beyond those that were tried.
std::string short_gaps(const StudyTask& task, const std::vector<MethodFigures>& figures) {
  const auto text = [&](const MethodFigures* of) {
    if (of == nullptr) return std::string("not run");
    if (!of->gap) return std::string("diverged");
    return (of->bracketed ? "" : "at most ") +
           fixed_text(of->gap->mean * (task.by_accuracy ? 100 : 1), task.by_accuracy ? 1 : 2);
  };
  const MethodFigures* best = closest(figures, kPipeMare);
  const std::string unit = best == nullptr ? "" : task.by_accuracy ? " points" : " nats";
  return text(best) + unit + " (naive " + text(figures_of(figures, "naive")) + ")";
}

/// "1 (naive 0.33)": the best rate of that variant, and of naive training, as shares of the synchronous one.
std::string short_rates(const std::vector<MethodFigures>& figures, const MethodFigures& first) {
  const auto share = [&](const MethodFigures* of) {
    if (of == nullptr || !of->bracketed) return std::string("not known");
    return number_text(parse_real(of->setting.rate, "rate") / parse_real(first.setting.rate, "rate"), 2);
  };
  return share(closest(figures, kPipeMare)) + " (naive " + share(figures_of(figures, "naive")) + ")";
}

}  // namespace

std::vector<Statement> paper_statements(const ModelStudy& models, const Study& study,
                                        const std::vector<StudyRun>& runs) {
  std::vector<Statement> all;
  add_model_statements(all, models);
  add_quality_statements(all, study, runs);
  return all;
}

PlotTable statements_table(const std::vector<Statement>& statements) {
  PlotTable table{.head = {"the paper says", "we find", "why"}, .rows = {}};
  for (const Statement& statement : statements) {
    table.rows.push_back({statement.claim, statement.found, statement.why});
  }
  return table;
}

std::string study_answer(const Study& study, const std::vector<StudyRun>& runs) {
  const std::string quality = by_task(
      study, runs,
      [&](const StudyTask& task, const std::vector<MethodFigures>& figures) { return short_gaps(task, figures); });
  const std::string rates = by_task(study, runs, [&](const StudyTask&, const std::vector<MethodFigures>& figures) {
    return short_rates(figures, *figures_of(figures, first_name(study)));
  });
  return "How far the best variant of PipeMare ends behind synchronous training, each at its own best learning rate "
         "and "
         "after as many updates, beside naive asynchronous training: " +
         quality + ". The learning rate at which it does best, as a share of the synchronous one: " + rates + ". " +
         when_it_pays(measured_factors(study, runs, kFlushFreePipeMare));
}

}  // namespace plumb
