#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace plumb {

/// Something to learn, and how: options of `train` that all methods share.
struct StudyTask {
  std::string name;
  std::string title;
  std::string note;                          ///< below the title: network, stages, rate
  std::string arguments;                     ///< "--network gpt-tiny -p 8 -m 4 --steps 300"
  std::map<std::string, std::string> words;  ///< what {WORD} in a method's arguments stands for
  bool by_accuracy = false;                  ///< quality is held-out accuracy; otherwise loss
  double target = 0;                         ///< quality whose first reaching is counted
  std::vector<std::string> clusters;         ///< that times are simulated on
};

/// A way to train: a schedule and its options.
struct StudyMethod {
  std::string name;
  std::string title;
  std::string arguments;  ///< "pipemare --opt timing=slots --t1"
};

/// Methods x tasks x seeds (document: results/pipemare/study.json, described in results/pipemare/README.md). The first
/// method is what the others are compared with.
struct Study {
  std::vector<StudyTask> tasks;
  std::vector<StudyMethod> methods;
  std::int64_t seeds = 5;
};

/// Throws `Error` with line, column and path.
Study study_from_json(std::string text, const std::string& file_name);

/// The `train` command of a run, without its seed. Throws `Error` for a {WORD} that the task does not explain.
std::string study_command(const StudyTask& task, const StudyMethod& method);

/// A moment of a run.
struct StudyPoint {
  std::int64_t update = 0;              ///< updates done
  double train_loss = 0;                ///< mean since the point before
  std::optional<double> loss = {};      ///< held out
  std::optional<double> accuracy = {};  ///< held out

  friend bool operator==(const StudyPoint&, const StudyPoint&) = default;
};

/// What one training run came to.
struct StudyRun {
  std::string task;
  std::string method;
  std::int64_t seed = 0;
  double seconds = 0;
  std::string error;  ///< one line; empty when it ran
  std::vector<StudyPoint> points;

  /// A loss is no finite number, or the last mean loss is above the first.
  bool diverged() const;
};

/// One row per point; runs with an error have none.
std::string runs_csv(const std::vector<StudyRun>& runs);
/// Reads what `runs_csv` wrote. Throws `Error` with the line.
std::vector<StudyRun> runs_from_csv(const std::string& text, const std::string& file_name);

}  // namespace plumb
