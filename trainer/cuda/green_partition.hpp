#pragma once

#include <vector>

#include "trainer/cuda/partition_plan.hpp"

namespace plumb::cuda {

/// A GPU cut into virtual devices, and a part for the copies between them. All groups come from one split, because the
/// groups of two splits overlap. Work on a stream of a part runs on its multiprocessors alone.
class GreenPartition {
 public:
  /// Number of the part for copies.
  static constexpr int kCopies = -1;

  GreenPartition(const GreenDriver& driver, CUdevice gpu, const PartitionPlan& plan, int devices);
  GreenPartition(const GreenPartition&) = delete;
  GreenPartition& operator=(const GreenPartition&) = delete;
  /// Destroys the streams, then the contexts.
  ~GreenPartition();

  /// Returns a stream of virtual device `part`, or of the copies. `priority` as CUDA counts it: less is sooner.
  CUstream make_stream(int part, int priority);
  /// Returns the multiprocessors as the driver says; those of the copies with `kCopies`.
  int sms(int part) const;

 private:
  struct Part {
    CUgreenCtx context = nullptr;
    int sms = 0;
  };

  Part make_part(CUdevice gpu, CUdevResource& resource);
  const Part& at(int part) const { return parts_[static_cast<std::size_t>(part == kCopies ? devices_ : part)]; }

  GreenDriver driver_;
  int devices_;
  std::vector<Part> parts_;  ///< by virtual device; the last one is for copies
  std::vector<CUstream> streams_;
};

}  // namespace plumb::cuda
