#include "trainer/cuda/op_graphs.hpp"

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("cuda");

namespace plumb::cuda {

TEST_CASE("work that cannot be captured is done as it is, every time, and the reason is kept") {
  OpGraphs graphs;
  int done = 0;
  const auto work = [&] { ++done; };
  for (int i = 0; i < 12; ++i) graphs.run("0F3", nullptr, work);  // the legacy stream cannot be captured
  CHECK(done == 12);
  CHECK(graphs.size() == 0);
  CHECK(graphs.refusal().starts_with("CUDA: cudaStreamBeginCapture"));
  CHECK_FALSE(graphs.is_one_launch("0F3"));
}

TEST_CASE("one refusal does not end the capturing of other work") {
  OpGraphs graphs;
  for (int i = 0; i < 2; ++i) graphs.run("0F3", nullptr, [] {});
  CHECK_FALSE(graphs.refusal().empty());
  graphs.run("0F4", nullptr, [] {});
  CHECK(graphs.is_one_launch("0F4"));
}

}  // namespace plumb::cuda

TEST_SUITE_END();
