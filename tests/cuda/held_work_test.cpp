#include "trainer/cuda/held_work.hpp"

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("cuda");

namespace plumb::cuda {
namespace {

/// Launches that a stream takes before the host must wait for room, which there is none behind a closed gate.
constexpr int kRoom = 1000;

/// Asks for work until the gate opens: what stands on the stream by then.
int asked_behind_gate(Held work, int launches_of_work) {
  HeldWork held;
  held.close();
  int asked = 0;
  while (!held.must_open(work)) asked += launches_of_work;
  return asked;
}

}  // namespace

TEST_CASE("gates open before a stream is full, also when a piece of work is a pass of hundreds of kernels") {
  CHECK(asked_behind_gate(Held::kCall, 1) > 0);
  CHECK(asked_behind_gate(Held::kCall, 1) < kRoom);
  CHECK(asked_behind_gate(Held::kFewKernels, 8) < kRoom);
  CHECK(asked_behind_gate(Held::kPass, 400) == 0);
}

TEST_CASE("gates open for a host that waits, and open ones stay open") {
  HeldWork held;
  CHECK_FALSE(held.must_open(Held::kHostWaits));
  held.close();
  CHECK_FALSE(held.must_open(Held::kCall));
  CHECK(held.must_open(Held::kHostWaits));
  held.open();
  CHECK_FALSE(held.must_open(Held::kPass));
}

}  // namespace plumb::cuda

TEST_SUITE_END();
