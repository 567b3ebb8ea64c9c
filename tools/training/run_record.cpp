#include "tools/training/run_record.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <utility>
#include <vector>

#include <unistd.h>

#include "models/ground/error.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "trainer/numbers/learning_rate.hpp"

namespace plumb {
namespace {

/// What Ctrl-C says; a signal may interrupt anything, so it is ready before.
std::string interrupt_words;

void say_interrupted(int signal) {
  [[maybe_unused]] const auto said = ::write(STDERR_FILENO, interrupt_words.data(), interrupt_words.size());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// All digits: the shortest text that reads back as the same number.
std::string exact_text(double value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

std::string loss_row(std::int64_t update, double loss) { return std::to_string(update) + "," + exact_text(loss); }

constexpr const char* kLossHeader = "update,loss";
constexpr const char* kLogHeader =
    "update,loss,learning_rate,seconds,samples_per_second,tokens_per_second,held_out_loss,held_out_accuracy\n";

/// Further columns are those of jobs.
std::string losses_csv(const TrainResult& result) {
  std::string text = kLossHeader;
  for (std::size_t job = 0; job < result.jobs.size(); ++job) text += ",job" + std::to_string(job);
  text += "\n";
  for (std::size_t i = 0; i < result.losses.size(); ++i) {
    text += loss_row(static_cast<std::int64_t>(i), result.losses[i]);
    for (const JobResult& job : result.jobs) text += "," + exact_text(job.losses[i]);
    text += "\n";
  }
  return text;
}

std::string words_at_interrupt(const std::string& losses, const std::string& log, const CheckpointOptions& saved) {
  std::string text = "\nplumbline: interrupted";
  for (const std::string& file : {losses, log}) {
    if (!file.empty() && file != "-") text += "; " + printable(file) + " has all updates until now";
  }
  if (saved.directory.empty()) return text + "; without --checkpoint nothing else was kept\n";
  return text + "; --resume goes on from the newest checkpoint in " + printable(saved.directory.string()) + "\n";
}

}  // namespace

RunRecord::RunRecord(const std::string& losses, const std::string& log) : losses_name_(losses), log_name_(log) {
  if (!losses.empty()) losses_.emplace(losses);
  if (!log.empty()) log_.emplace(log);
}

RunRecord::~RunRecord() {
  if (options_ != nullptr) std::signal(SIGINT, before_);
}

void RunRecord::observe(TrainOptions& options, std::int64_t total, bool has_losses) {
  options_ = &options;
  total_ = total;
  has_losses_ = has_losses;
  begin_ = std::chrono::steady_clock::now();
  options.observation.on_resume = [this](const std::vector<double>& losses) { resumed(losses); };
  options.observation.on_update = [this](std::int64_t update, double loss) { updated(update, loss); };
  options.observation.evaluation.on_evaluation = [this](const Evaluation& evaluation) { evaluated(evaluation); };
  interrupt_words = words_at_interrupt(losses_name_, log_name_, options.observation.checkpoint);
  before_ = std::signal(SIGINT, say_interrupted);
  if (before_ == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

double RunRecord::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void RunRecord::log_row(const std::string& row) {
  if (!log_) return;
  const std::string text = (logged_.empty() ? kLogHeader : "") + row + "\n";
  log_->add(text);
  logged_ += text;
}

void RunRecord::add_loss(const std::string& row) {
  if (losses_) losses_->add((std::exchange(has_header_, true) ? "" : std::string(kLossHeader) + "\n") + row + "\n");
}

void RunRecord::resumed(const std::vector<double>& losses) {
  for (std::size_t update = 0; update < losses.size(); ++update) {
    const std::string row = loss_row(static_cast<std::int64_t>(update), losses[update]);
    add_loss(row);
    log_row(row + ",,,,,,");
  }
}

void RunRecord::updated(std::int64_t update, double loss) {
  constexpr double kLeastSeconds = 1e-9;
  const std::string row = loss_row(update, loss);
  add_loss(row);
  const double now = seconds();
  const MicrobatchShape& shape = options_->model.shape;
  const auto samples = static_cast<double>(options_->schedule.per_update(StageId{0}) * shape.samples);
  const double rate = samples / std::max(now - std::exchange(last_update_s_, now), kLeastSeconds);
  const double usual = samples * static_cast<double>(++updates_) / std::max(now, kLeastSeconds);
  log_row(row + "," + exact_text(learning_rate(options_->optimization.learning_rate, update)) + "," +
          fixed_text(now, 3) + "," + fixed_text(rate, 1) + "," +
          fixed_text(rate * static_cast<double>(shape.sequence), 1) + ",,");
  progress_.show(update + 1, total_,
                 has_losses_ ? "loss " + fixed_text(loss, 3) + ", " + fixed_text(usual, 0) + " samples/s" : "");
}

void RunRecord::evaluated(const Evaluation& evaluation) {
  log_row(std::to_string(evaluation.update) + ",,," + fixed_text(seconds(), 3) + ",,," + exact_text(evaluation.loss) +
          "," + exact_text(evaluation.accuracy));
}

void RunRecord::finish(const TrainResult& result) {
  if (losses_) losses_->finish(losses_csv(result));
  if (log_) log_->finish(logged_.empty() ? kLogHeader : logged_);
}

}  // namespace plumb
