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
  std::string note;                          ///< below the title: network, stages
  std::string arguments;                     ///< "--network gpt-tiny -p 8 -m 4 --steps 300 --learning-rate {rate}"
  std::map<std::string, std::string> words;  ///< what other {WORD}s stand for
  std::vector<std::string> rates;            ///< learning rates of the grid, ascending
  std::vector<std::string> further_rates;    ///< tried where a method's best rate lies at the edge of those
  std::vector<std::string> k;                ///< T1's K: by the paper's rule, then others
  std::vector<std::string> d;                ///< T2's D, likewise
  bool by_accuracy = false;                  ///< quality is held-out accuracy; otherwise loss
  double target = 0;                         ///< quality whose first reaching is counted
  double chance = 0;                         ///< quality of no learning: such a run, or a worse one, has diverged
  std::int64_t held_out = 0;                 ///< targets that accuracy is a share of at the end; 0: not told
  std::vector<std::string> clusters;         ///< that times are simulated on
  std::optional<std::int64_t> seeds;         ///< of its own, at the best rates; none: those of the study
  std::optional<std::int64_t> grid_seeds;    ///< likewise, at other rates
};

/// A way to train: a schedule and its options.
struct StudyMethod {
  std::string name;
  std::string title;
  std::string arguments;                     ///< "pipemare --opt timing=slots --method t1:K={K}"
  std::map<std::string, std::string> words;  ///< come before those of the task
  std::vector<std::string> tasks;            ///< it is tried on; empty: all

  bool is_tried_on(const StudyTask& task) const;
};

/// What of a method is varied on a task. Empty where its command does not use it.
struct StudySetting {
  std::string rate;
  std::string k;
  std::string d;

  friend bool operator==(const StudySetting&, const StudySetting&) = default;
};

/// Methods x tasks x learning rates x seeds (document: results/pipemare/study.json, described in
/// results/pipemare/README.md). The first method is what the others are compared with.
struct Study {
  std::vector<StudyTask> tasks;
  std::vector<StudyMethod> methods;
  std::int64_t seeds = 5;       ///< at the best rate of each method
  std::int64_t grid_seeds = 2;  ///< at its other rates
};

/// Throws `Error` with line, column and path.
Study study_from_json(std::string text, const std::string& file_name);

/// The method at a rate, with K and D by the paper's rule where it uses them.
StudySetting rule_setting(const StudyTask& task, const StudyMethod& method, const std::string& rate);

/// At the same rate with every other K, then every other D.
std::vector<StudySetting> other_settings(const StudyTask& task, const StudyMethod& method, const std::string& rate);

/// The `train` command of a run, without its seed. Throws `Error` for a {WORD} that nothing explains.
std::string study_command(const StudyTask& task, const StudyMethod& method, const StudySetting& setting);

}  // namespace plumb
