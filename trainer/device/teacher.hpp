#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/stages/backend.hpp"

namespace plumb {

/// The weights of the teacher of a stage on a device: a moving average of those of its student (Tarvainen & Valpola,
/// Mean teacher, arXiv 1703.01780), one update late, as in TSPipe's released code. While update u is computed, whose
/// student is w_u, the teacher is
///
///     T_0 = T_1 = the first weights,   T_u = decay T_(u-1) + (1 - decay) w_(u-1)
///
/// whenever a pass asks for it: before U u-1 the newest weights are w_(u-1), so that U calls `follow` first.
class Teacher {
 public:
  Teacher() = default;
  /// `weights` holds the first ones.
  Teacher(std::byte* weights, double decay) : weights_(weights), decay_(decay) {}

  bool exists() const { return weights_ != nullptr; }
  /// Becomes the teacher of `update` of the whole run, if it is an earlier one's; `student`: the newest weights.
  void follow(std::int64_t update, StageBackend& arithmetic, const std::byte* student);
  const std::byte* weights() const { return weights_; }
  /// Returns the update whose teacher it is, for checkpoints.
  std::int64_t* update() { return &update_; }

 private:
  std::byte* weights_ = nullptr;
  double decay_ = 1;
  std::int64_t update_ = 0;
};

}  // namespace plumb
