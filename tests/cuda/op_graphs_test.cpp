#include "trainer/cuda/op_graphs.hpp"

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("cuda");

namespace plumb::cuda {

TEST_CASE("work that cannot be captured is done as it is, every time, and the reason is kept") {
  OpGraphs graphs;
  int done = 0;
  const auto work = [&] { ++done; };
  for (int i = 0; i < 4; ++i) graphs.run("0F3", nullptr, work);  // the legacy stream cannot be captured
  CHECK(done == 4);
  CHECK(graphs.size() == 0);
  CHECK(graphs.refusal().starts_with("CUDA: cudaStreamBeginCapture"));
  CHECK_FALSE(graphs.is_one_launch("0F3"));
}

}  // namespace plumb::cuda

TEST_SUITE_END();
