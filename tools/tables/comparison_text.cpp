#include "tools/tables/comparison_text.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "schedules/document/schedule_io.hpp"
#include "sim/comparison/compare.hpp"
#include "tools/tables/timeline_text.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

std::string signed_time(std::int64_t ns) { return (ns > 0 ? "+" : "") + time_text(ns); }

std::string signed_share(std::int64_t ns, const ErrorSplit& split) {
  if (split.measured_ns == 0) return "-";
  const std::string digits = fixed_text(100 * static_cast<double>(ns) / static_cast<double>(split.measured_ns), 2);
  return (ns > 0 ? "+" : "") + digits + " %";
}

std::string title_of(const PartOfError& part) {
  return std::string(kErrorPartTitles[static_cast<std::size_t>(part.part)]);
}

std::string parts(const ErrorSplit& split, const ComparedNames& names) {
  TextTable table(
      {{names.apart + " of the step time"}, {"", '>'}, {"of the step", '>'}, {"model", '>'}, {"noise", '>'}});
  const auto add = [&](std::string title, std::int64_t model_ns, std::int64_t noise_ns) {
    const std::int64_t both = model_ns + noise_ns;
    table.add_row(
        {std::move(title), signed_time(both), signed_share(both, split), signed_time(model_ns), signed_time(noise_ns)});
  };
  for (const PartOfError& part : split.parts) add(title_of(part), part.model_ns, part.noise_ns);
  add("together", split.model_ns, split.noise_ns);
  return table.to_string();
}

std::string largest_actions(const ErrorSplit& split, const ComparedNames& names) {
  TextTable table({{"largest in each part"},
                   {"device", '>'},
                   {"action", '<'},
                   {names.first, '>'},
                   {names.second, '>'},
                   {"of the " + names.apart, '>'}});
  bool any = false;
  for (const PartOfError& part : split.parts) {
    for (const ErrorAction& action : part.largest) {
      any = true;
      const bool again = &action != &part.largest.front();
      const std::string at = part.part >= ErrorPart::kOrder ? "at " : "";
      table.add_row({again ? "" : title_of(part), std::to_string(index(action.device)), to_string(action.action),
                     at + time_text(action.predicted_ns), at + time_text(action.measured_ns),
                     signed_time(action.error_ns)});
    }
  }
  return any ? "\n" + table.to_string() : "";
}

/// The parts of a comparison's error for a terminal: what each contributes, and its largest actions. Empty where the
/// error was not split, or is 0.
std::string error_split_text(const Comparison& comparison, const ComparedNames& names) {
  if (!comparison.split || comparison.split->parts.empty()) return "";
  return "\n" + parts(*comparison.split, names) +
         sentence_text("model: against what is usual in the run; noise: by how much it was not as usual") +
         largest_actions(*comparison.split, names);
}

/// A relative error with its sign; no sign where it rounds to 0.
std::string error_text(double error) {
  const std::string digits = fixed_text(100 * error, 2);
  if (digits == "-0.00") return "0.00 %";
  return (error > 0 && digits != "0.00" ? "+" : "") + digits + " %";
}

/// A difference of two shares: "+0.67 points".
std::string points_text(double difference) {
  const std::string digits = fixed_text(100 * difference, 2);
  if (digits == "-0.00") return "0.00 points";
  return (difference > 0 && digits != "0.00" ? "+" : "") + digits + " points";
}

/// There is no relative error of something that only one of the two has.
std::string relative_text(std::int64_t predicted, std::int64_t measured) {
  if (measured == 0 || predicted == 0) return predicted == measured ? error_text(0) : "-";
  return error_text(static_cast<double>(predicted - measured) / static_cast<double>(measured));
}

std::string figures(const Comparison& c, const ComparedNames& names) {
  TextTable table({{""}, {names.first, '>'}, {names.second, '>'}, {names.apart, '>'}});
  table.add_row({"schedule", c.predicted_schedule, c.measured_schedule, ""});
  const auto time = [&](const char* name, const FigureError& f) {
    table.add_row({name, ns_text(f.predicted), ns_text(f.measured), error_text(f.error)});
  };
  const auto share = [&](const char* name, const FigureError& f) {
    table.add_row({name, share_text(f.predicted), share_text(f.measured), points_text(f.predicted - f.measured)});
  };
  time("makespan", c.makespan_ns);
  time("step time", c.step_time_ns);
  share("bubble fraction", c.bubble_fraction);
  share("utilization", c.utilization);
  if (c.tokens_per_s) {
    table.add_row({"tokens per second", number_text(c.tokens_per_s->predicted), number_text(c.tokens_per_s->measured),
                   error_text(c.tokens_per_s->error)});
  }
  std::string text = table.to_string();
  if (c.runs > 1) text += std::to_string(c.runs) + " runs; their step times spread by " + share_text(c.spread) + "\n";
  return text;
}

std::string kinds(const Comparison& c, const ComparedNames& names) {
  TextTable table({{"actions"},
                   {names.first, '>', "count"},
                   {names.second, '>', "count"},
                   {names.first, '>', "time"},
                   {names.second, '>', "time"},
                   {names.apart, '>'},
                   {"median " + names.apart, '>'},
                   {"90th percentile", '>'}});
  for (const KindError& kind : c.kinds) {
    std::vector<std::string> cells{std::string(kOpNames[static_cast<std::size_t>(kind.op)]),
                                   std::to_string(kind.predicted_count),
                                   std::to_string(kind.measured_count),
                                   time_text(kind.predicted_ns),
                                   time_text(kind.measured_ns),
                                   relative_text(kind.predicted_ns, kind.measured_ns)};
    if (c.aligned) {
      cells.push_back(error_text(kind.median_error));
      cells.push_back(share_text(kind.p90_error));
    }
    table.add_row(std::move(cells));
  }
  return c.kinds.empty() ? "" : "\n" + table.to_string();
}

std::string causes(const Comparison& c, const ComparedNames& names) {
  TextTable table({{"idle time"},
                   {names.first, '>', "time"},
                   {names.second, '>', "time"},
                   {names.first, '>', "share"},
                   {names.second, '>', "share"}});
  for (const CauseError& cause : c.causes) {
    table.add_row({std::string(kIdleCauseTitles[static_cast<std::size_t>(cause.cause)]), time_text(cause.predicted_ns),
                   time_text(cause.measured_ns), share_text(cause.predicted_share), share_text(cause.measured_share)});
  }
  return c.causes.empty() ? "" : "\n" + table.to_string();
}

std::string memory(const Comparison& c, const ComparedNames& names) {
  TextTable table({{"peak memory"}, {"device", '>'}, {names.first, '>'}, {names.second, '>'}, {"difference", '>'}});
  for (const MemoryError& m : c.memory) {
    table.add_row({m.cls ? "  " + with_spaces(kMemoryClassNames[static_cast<std::size_t>(*m.cls)]) : "total",
                   std::to_string(index(m.device)), bytes_text(m.predicted_bytes), bytes_text(m.measured_bytes),
                   bytes_text(m.predicted_bytes - m.measured_bytes)});
  }
  return c.memory.empty() ? "" : "\n" + table.to_string();
}

std::string offenders(const Comparison& c, const ComparedNames& names) {
  TextTable table({{"largest differences"},
                   {"device", '>'},
                   {names.first, '>', "duration"},
                   {names.second, '>', "duration"},
                   {names.first, '>', "start"},
                   {names.second, '>', "start"}});
  for (const Offender& o : c.offenders) {
    table.add_row({to_string(o.action), std::to_string(index(o.device)), time_text(o.predicted_ns),
                   time_text(o.measured_ns), time_text(o.predicted_start_ns), time_text(o.measured_start_ns)});
  }
  return c.offenders.empty() ? "" : "\n" + table.to_string();
}

/// "a step: simulated 299.5 ms, measured 306.6 ms: error -2.32 %".
std::string step_difference(const Comparison& c, const ComparedNames& names) {
  return "a step: " + names.first + " " + ns_text(c.step_time_ns.predicted) + ", " + names.second + " " +
         ns_text(c.step_time_ns.measured) + ": " + names.apart + " " + error_text(c.step_time_ns.error);
}

/// Why the timelines are not laid over each other; empty where they are.
std::string differing_actions(const Comparison& c) {
  if (c.aligned || c.only_predicted + c.only_measured == 0) return "";
  const bool no_first = std::ranges::all_of(c.kinds, [](const KindError& kind) { return kind.predicted_count == 0; });
  const bool no_second = std::ranges::all_of(c.kinds, [](const KindError& kind) { return kind.measured_count == 0; });
  if (no_first || no_second) {
    return "\n" + sentence_text("the " + std::string(no_first ? "first" : "second") +
                                " timeline has no actions, as those written with --summary; expected one with all of "
                                "them");
  }
  return "\n" + sentence_text("the timelines have different actions: " + std::to_string(c.only_predicted) +
                              " occur only in the first, " + std::to_string(c.only_measured) + " only in the second" +
                              (c.split ? "; both did the same work, so every backward is held against the whole of "
                                         "the same backward"
                                       : ""));
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const ComparedNames& names) {
  return verdict_text(step_difference(comparison, names)) + figures(comparison, names) + differing_actions(comparison) +
         error_split_text(comparison, names) + kinds(comparison, names) + causes(comparison, names) +
         memory(comparison, names) + offenders(comparison, names);
}

std::string ranking_text(const Ranking& ranking) {
  const auto ns = [](double time) { return time_text(std::llround(time)); };
  TextTable table({{"configuration"},
                   {"predicted", '>'},
                   {"measured", '>'},
                   {"95 % interval", '>'},
                   {"steps", '>'},
                   {"outliers", '>'},
                   {"error", '>'},
                   {"largest error", '>'},
                   {"idle share error", '>'}});
  for (const RankedRun& run : ranking.runs) {
    table.add_row({run.name, ns(run.predicted_ns), ns(run.measured_ns.value),
                   ns(run.measured_ns.low) + " - " + ns(run.measured_ns.high), std::to_string(run.steps),
                   std::to_string(run.strays), (run.error > 0 ? "+" : "") + share_text(run.error),
                   share_text(run.most_error), share_text(run.idle_error)});
  }
  return table.to_string() + "\npairs in the predicted order: " + std::to_string(ranking.compared - ranking.wrong) +
         " of " + std::to_string(ranking.compared) + "\n";
}

}  // namespace plumb
