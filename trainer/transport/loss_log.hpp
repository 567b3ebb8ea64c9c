#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace plumb {

/// The loss of slice `slice` of the `of` slices of a microbatch of the whole run.
struct NotedLoss {
  std::int64_t microbatch = 0;
  std::size_t slice = 0;
  std::size_t of = 1;
  double loss = 0;
};

/// Losses by microbatch (or slice of one) of the whole run, and their means by update. Thread-safe.
class LossLog {
 public:
  using OnUpdate = std::function<void(std::int64_t update, double loss)>;

  /// `slices`: the most that a microbatch has.
  LossLog(std::int64_t per_update, std::size_t slices, std::int64_t updates, OnUpdate on_update)
      : microbatches_(static_cast<std::size_t>(per_update)),
        slices_(slices),
        per_update_(microbatches_ * slices),
        losses_(per_update_ * static_cast<std::size_t>(updates)),
        missing_(static_cast<std::size_t>(updates), per_update_),
        on_update_(std::move(on_update)) {}

  /// The loss of slice `slice` of the `of` slices of a microbatch; the losses of its slices add up to its own. A
  /// forward that is run again replaces its earlier loss.
  void add(std::int64_t microbatch, std::size_t slice, std::size_t of, double loss) {
    if (pass_on_) return pass_on_({microbatch, slice, of, loss});
    const std::scoped_lock lock(mutex_);
    const std::size_t first = static_cast<std::size_t>(microbatch) * slices_;
    const std::size_t update = first / per_update_;
    if (std::exchange(losses_[first + slice], loss)) return;
    --missing_[update];
    for (std::size_t absent = of; slice == 0 && absent < slices_; ++absent, --missing_[update]) {
      losses_[first + absent] = 0;
    }
    if (missing_[update] == 0 && on_update_) on_update_(static_cast<std::int64_t>(update), mean(update));
  }

  /// Hands losses to `pass_on` from now on instead of keeping them here.
  void pass_on(std::function<void(const NotedLoss&)> pass_on) { pass_on_ = std::move(pass_on); }

  /// Returns the mean loss of the first updates, as far as the losses of all their microbatches are known.
  std::vector<double> means() const {
    std::vector<double> means;
    for (std::size_t update = 0; update < missing_.size() && missing_[update] == 0; ++update)
      means.push_back(mean(update));
    return means;
  }

  /// Returns the loss of a microbatch of the whole run; 0 until it is known.
  double of_microbatch(std::size_t microbatch) const {
    double sum = 0;
    for (std::size_t i = 0; i < slices_; ++i) sum += losses_[microbatch * slices_ + i].value_or(0);
    return sum;
  }

  /// Returns all losses, for checkpoints.
  const std::vector<std::optional<double>>& losses() const { return losses_; }
  void restore(std::size_t at, double loss) {
    losses_[at] = loss;
    --missing_[at / per_update_];
  }

 private:
  double mean(std::size_t update) const {
    double sum = 0;
    for (std::size_t i = 0; i < per_update_; ++i) sum += losses_[update * per_update_ + i].value_or(0);
    return sum / static_cast<double>(microbatches_);
  }

  std::mutex mutex_;
  std::size_t microbatches_;  ///< microbatches of an update
  std::size_t slices_;        ///< the most of a microbatch; those that one does not have count as 0
  std::size_t per_update_;    ///< entries of an update
  std::vector<std::optional<double>> losses_;
  std::vector<std::size_t> missing_;  ///< by update: microbatches still to come
  OnUpdate on_update_;
  std::function<void(const NotedLoss&)> pass_on_;
};

}  // namespace plumb
