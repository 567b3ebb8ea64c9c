#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/terminal/progress.hpp"
#include "tools/training/growing_file.hpp"
#include "trainer/plan/train_options.hpp"
#include "trainer/plan/train_result.hpp"

namespace plumb {

/// What a training run leaves while it goes on: files of losses that grow by a row with every update, progress, and at
/// Ctrl-C a line that says what was kept.
class RunRecord {
 public:
  /// Files that are not wanted have no name. Throws `Error` when one cannot be written.
  RunRecord(const std::string& losses, const std::string& log);
  RunRecord(const RunRecord&) = delete;
  RunRecord& operator=(const RunRecord&) = delete;
  ~RunRecord();

  /// Makes `options`, which must outlive the run, tell this record what happens. `total`: updates of the run.
  void observe(TrainOptions& options, std::int64_t total, bool has_losses);
  /// The run is over.
  void finish(const TrainResult& result);

 private:
  void add_loss(const std::string& row);
  void resumed(const std::vector<double>& losses);
  void updated(std::int64_t update, double loss);
  void evaluated(const Evaluation& evaluation);
  void log_row(const std::string& row);
  double seconds() const;

  std::string losses_name_;
  std::string log_name_;
  std::optional<GrowingFile> losses_;
  std::optional<GrowingFile> log_;
  std::string logged_;  ///< all of the log until now
  Progress progress_{"train"};
  const TrainOptions* options_ = nullptr;
  std::int64_t total_ = 0;
  bool has_losses_ = true;
  bool has_header_ = false;   ///< the file of losses
  std::int64_t updates_ = 0;  ///< that ended in this run of the program
  std::chrono::steady_clock::time_point begin_;
  double last_update_s_ = 0;
  void (*before_)(int) = nullptr;  ///< what Ctrl-C did before
};

}  // namespace plumb
