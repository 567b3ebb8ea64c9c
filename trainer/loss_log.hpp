#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace plumb {

/// Losses by microbatch of the whole run, and their means by update. Thread-safe.
class LossLog {
 public:
  using OnUpdate = std::function<void(std::int64_t update, double loss)>;

  LossLog(std::int64_t per_update, std::int64_t updates, OnUpdate on_update)
      : per_update_(static_cast<std::size_t>(per_update)),
        losses_(per_update_ * static_cast<std::size_t>(updates)),
        missing_(static_cast<std::size_t>(updates), per_update_),
        on_update_(std::move(on_update)) {}

  void add(std::int64_t microbatch, double loss) {
    const std::scoped_lock lock(mutex_);
    const std::size_t at = static_cast<std::size_t>(microbatch);
    losses_[at] = loss;
    const std::size_t update = at / per_update_;
    if (--missing_[update] == 0 && on_update_) on_update_(static_cast<std::int64_t>(update), mean(update));
  }

  /// Mean loss of every update whose microbatches are all there.
  std::vector<double> means() const {
    std::vector<double> means;
    for (std::size_t update = 0; update < missing_.size() && missing_[update] == 0; ++update)
      means.push_back(mean(update));
    return means;
  }

  /// For checkpoints.
  const std::vector<std::optional<double>>& losses() const { return losses_; }
  void restore(std::size_t microbatch, double loss) {
    losses_[microbatch] = loss;
    --missing_[microbatch / per_update_];
  }

 private:
  double mean(std::size_t update) const {
    double sum = 0;
    for (std::size_t i = 0; i < per_update_; ++i) sum += losses_[update * per_update_ + i].value_or(0);
    return sum / static_cast<double>(per_update_);
  }

  std::mutex mutex_;
  std::size_t per_update_;
  std::vector<std::optional<double>> losses_;
  std::vector<std::size_t> missing_;  ///< by update: microbatches still to come
  OnUpdate on_update_;
};

}  // namespace plumb
