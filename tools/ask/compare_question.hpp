#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/comparison/compare.hpp"
#include "sim/comparison/ranking.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/formats/run_files.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/reports/card.hpp"
#include "tools/reports/picture_style.hpp"
#include "tools/terminal/command_line.hpp"

namespace plumb {

class AnswerDocument;
struct Request;

/// What is compared: a run with others, which repeat one configuration.
struct ComparedRuns {
  Timeline first;
  std::string first_name;
  NamedRuns others;
  std::vector<std::string> files;  ///< of all, as they were asked for
};

/// Schedules and runs that are drawn on one time axis.
struct CardRuns {
  std::vector<std::string> titles{};
  std::vector<Timeline> timelines{};
  std::vector<TimeWords> times{};  ///< of each; runs that were read have seconds

  /// Refers to this object.
  std::vector<CardRun> runs() const;
};

/// A prediction and runs action by action, pairs of runs by their order, or schedules and runs on one time axis: a
/// card. Every member has the default of the option that fills it.
struct CompareQuestion {
  static constexpr const char* kUsage = "compare A B... [options]";

  std::string first;
  std::vector<std::string> others;
  std::string max_error;
  std::string max_noise;
  bool memory_exact = false;
  bool ranking = false;
  std::optional<std::int64_t> first_step;
  std::string max_idle;
  std::string names;  ///< titles on the card, separated by commas
  ScheduleArguments size;
  CostArguments costs;
  RunRules rules;
  PictureStyle style;

  /// Declares the options; this object must outlive the table. `outputs`: `FileOptions`.
  void add_to(OptionTable& table, const FileOptions& outputs = {});

  /// Throws `Error` for bounds that are no shares, or that only a ranking has.
  CompareOptions options() const;
  /// The same for a ranking; `draws`: a page is wanted, which a ranking does not have.
  RankingOptions ranking_options(bool draws) const;

  /// Whether a card is asked for whatever the runs are: schedules are given, `pictures` wanted or titles. Throws
  /// `Error` where bounds are given, too.
  bool asks_card(bool pictures) const;
  /// Simulates the schedules, reads the runs. Throws `Error` for what is neither.
  CardRuns read_card() const;
  /// Whether runs that have been read are drawn so, too: no bound is given, and runs of the same kind are of different
  /// schedules, so that no one of them is a prediction of another.
  bool shows_card(const ComparedRuns& runs) const;
  /// Their card.
  CardRuns card_of(ComparedRuns read) const;

  /// Reads the files. Throws `Error` for what is no run.
  ComparedRuns read() const;
  /// The files as pairs: predicted, measured.
  std::vector<std::pair<Timeline, Timeline>> read_pairs() const;

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts() { return {"comparison", "text", "html", "svg", "pdf", "png"}; }
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);

 private:
  std::vector<std::string> all() const;
  bool has_bounds() const;
  void name_runs(CardRuns& runs) const;
  /// Adds the runs of `schedules`, which are places in `given`; without a size they take that of files and of runs.
  void simulate_into(const std::vector<std::string>& given, std::vector<std::size_t> schedules,
                     std::map<std::size_t, CardRuns>& read) const;
};

/// The page of a card: the card, then a section for every run.
std::string card_page(const CardRuns& runs);

/// The tables that answer, with the runs named by their kinds where these differ.
std::string comparison_tables(const ComparedRuns& runs, const Comparison& comparison);

/// A page with a section for every run; with several, at first the one that stands for all is shown.
std::string comparison_page(const ComparedRuns& runs, const CompareOptions& options);

/// What the verdict means for the exit status of a command.
ExitStatus status_of(const Comparison& comparison);

}  // namespace plumb
