#include "trainer/device/teacher.hpp"

namespace plumb {

void Teacher::follow(std::int64_t update, StageBackend& arithmetic, const std::byte* student) {
  for (; update_ < update; ++update_) {
    if (update_ == 0 || decay_ == 1) continue;
    arithmetic.apply(Combine{decay_, 1 - decay_}, {weights_, weights_, student});
  }
}

}  // namespace plumb
