#include "tools/options/job_arguments.hpp"

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("tools");

namespace plumb {

TEST_CASE("shard groups, compressed gradients and storage devices describe a job, each as its option says") {
  CHECK(!JobArguments{}.any());
  JobArguments arguments;
  arguments.shard_group = 8;
  CHECK(arguments.any());
  CHECK(arguments.parallelism({}, MatrixFormat::kBf16).shard_group == 8);
  arguments = {};
  arguments.compress_gradients = 0.25;
  CHECK(arguments.any());
  CHECK(arguments.parallelism({}, MatrixFormat::kBf16).gradient_share == 0.25);
  arguments = {};
  arguments.storage_update = 3;
  CHECK(arguments.any());
  CHECK(arguments.parallelism({}, MatrixFormat::kBf16).storage_bytes_per_s == 3e9);
}

}  // namespace plumb

TEST_SUITE_END();
