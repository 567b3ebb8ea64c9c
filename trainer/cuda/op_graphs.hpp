#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>

namespace plumb::cuda {

/// Work that is done again and again with the same arguments, as one launch. Seen for the second time it is captured;
/// the first time shows that it can be done without allocating.
class OpGraphs {
 public:
  OpGraphs() = default;
  OpGraphs(const OpGraphs&) = delete;
  OpGraphs& operator=(const OpGraphs&) = delete;
  ~OpGraphs();

  /// Does the work on `stream`. `key` has everything that it depends on; empty: done as it is.
  void run(const std::string& key, cudaStream_t stream, const std::function<void()>& work);
  /// Returns whether `run` will be a single launch.
  bool is_one_launch(const std::string& key) const {
    return !key.empty() && (graphs_.contains(key) || (refusals_ < kMostRefusals && seen_.contains(key)));
  }
  /// Returns why something could not be captured, which is done as it is. After some refusals nothing more is captured.
  /// Empty where everything could.
  const std::string& refusal() const { return refusal_; }
  std::size_t size() const { return graphs_.size(); }
  std::int64_t replays() const { return replays_; }

 private:
  /// More would not be the same arguments again.
  static constexpr std::size_t kMost = 1U << 14U;

  /// A capture that fails takes time.
  static constexpr int kMostRefusals = 4;

  void capture(const std::string& key, cudaStream_t stream, const std::function<void()>& work);

  std::set<std::string> seen_;
  std::unordered_map<std::string, cudaGraphExec_t> graphs_;
  std::int64_t replays_ = 0;
  int refusals_ = 0;
  std::string refusal_;
};

}  // namespace plumb::cuda
