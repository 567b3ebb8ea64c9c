#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/studies/pipemare/study.hpp"

namespace plumb {

/// A moment of a run.
struct StudyPoint {
  std::int64_t update = 0;              ///< updates done
  double train_loss = 0;                ///< mean since the point before
  std::optional<double> loss = {};      ///< held out
  std::optional<double> accuracy = {};  ///< held out
  std::optional<double> bleu = {};      ///< of held-out pairs, translated word by word

  friend bool operator==(const StudyPoint&, const StudyPoint&) = default;
};

/// What one training run came to.
struct StudyRun {
  std::string task;
  std::string method;
  StudySetting setting;
  std::int64_t seed = 0;
  std::string command;  ///< `command_mark` of what was run
  double seconds = 0;
  std::string error;  ///< one line; empty when it ran
  std::vector<StudyPoint> points;

  bool is(const StudyTask& of, const StudyMethod& by) const { return task == of.name && method == by.name; }
};

/// Short mark of a command (FNV-1a, 8 hexadecimal digits): other options, another mark.
std::string command_mark(const std::string& command);

/// Accuracy, or loss (the held-out one where there is one).
double quality_of(const StudyTask& task, const StudyPoint& point);

/// What a reader calls so: a loss is no number, the run ends worse than it began, or no better than chance.
bool has_diverged(const StudyTask& task, const StudyRun& run);

/// One row per point; runs with an error have none.
std::string runs_csv(const std::vector<StudyRun>& runs);
/// Reads what `runs_csv` wrote. Throws `Error` with the line.
std::vector<StudyRun> runs_from_csv(const std::string& text, const std::string& file_name);

/// The runs whose commands are those of the study as it is now; an edited command makes others of them.
std::vector<StudyRun> runs_of_study(const Study& study, std::vector<StudyRun> runs);

}  // namespace plumb
