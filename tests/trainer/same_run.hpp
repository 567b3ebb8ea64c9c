#pragma once

#include <cstddef>

#include <doctest/doctest.h>

#include "trainer/train.hpp"

namespace plumb {

/// The run of several processes has the bits, versions and peaks of the same run in one thread.
inline void check_same_run(const TrainResult& many, const TrainResult& one) {
  CHECK(many.weights_hash == one.weights_hash);
  CHECK(many.losses == one.losses);
  CHECK(many.versions == one.versions);
  CHECK(many.parameters == one.parameters);
  CHECK(many.gradients == one.gradients);
  REQUIRE(many.timeline.has_value());
  for (std::size_t device = 0; device < one.timeline->devices.size(); ++device) {
    CAPTURE(device);
    CHECK(many.timeline->devices[device].peak_memory_bytes == one.timeline->devices[device].peak_memory_bytes);
    CHECK(many.timeline->devices[device].peak_memory_by_class == one.timeline->devices[device].peak_memory_by_class);
  }
}

}  // namespace plumb
