#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/comparison/compare.hpp"
#include "sim/comparison/ranking.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/formats/run_files.hpp"
#include "tools/options/option_table.hpp"
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

/// Two runs action by action, or pairs of runs by their order. Every member has the default of the option that fills
/// it.
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

  /// Declares the options; this object must outlive the table. `outputs`: `FileOptions`.
  void add_to(OptionTable& table, const FileOptions& outputs = {});

  /// Throws `Error` for bounds that are no shares, or that only a ranking has.
  CompareOptions options() const;
  /// The same for a ranking; `draws`: a page is wanted, which a ranking does not have.
  RankingOptions ranking_options(bool draws) const;

  /// Reads the files. Throws `Error` for what is no run.
  ComparedRuns read() const;
  /// The files as pairs: predicted, measured.
  std::vector<std::pair<Timeline, Timeline>> read_pairs() const;

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts() { return {"comparison", "text", "html"}; }
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);
};

/// The tables that answer, with the runs named by their kinds where these differ.
std::string comparison_tables(const ComparedRuns& runs, const Comparison& comparison);

/// A page with a section for every run; with several, at first the one that stands for all is shown.
std::string comparison_page(const ComparedRuns& runs, const CompareOptions& options);

/// What the verdict means for the exit status of a command.
ExitStatus status_of(const Comparison& comparison);

}  // namespace plumb
