#include "tools/options/job_arguments.hpp"

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {

TEST_CASE("shard groups, compressed gradients and storage devices describe a job, each as its option says") {
  CHECK(!JobArguments{}.any());
  JobArguments arguments;
  arguments.traffic.shard_group = "8";
  CHECK(arguments.any());
  CHECK(arguments.parallelism({}, MatrixFormat::kBf16).shard_groups == ShardGroups::of(8));
  arguments.traffic.shard_group = "optimizer=64,weights=8";
  CHECK(arguments.parallelism({}, MatrixFormat::kBf16).shard_groups == ShardGroups{8, 0, 64});
  for (const char* wrong : {"0", "eight", "8,8", "weights", "weights=", "weights=0", "weight=8", "weights=8,,", "-8"}) {
    CAPTURE(wrong);
    arguments.traffic.shard_group = wrong;
    CHECK_THROWS_AS(arguments.parallelism({}, MatrixFormat::kBf16), Error);
  }
  arguments = {};
  arguments.traffic.compress_gradients = 0.25;
  CHECK(arguments.any());
  CHECK(arguments.parallelism({}, MatrixFormat::kBf16).gradient_share == 0.25);
  arguments = {};
  arguments.traffic.storage_update = 3;
  CHECK(arguments.any());
  CHECK(arguments.parallelism({}, MatrixFormat::kBf16).storage_bytes_per_s == 3e9);
}

TEST_CASE("layers that are sharded by themselves and messages in few bits are read, and what is neither is refused") {
  JobArguments arguments;
  arguments.shard_layers = "4-2-0";
  CHECK(arguments.any());
  CHECK(arguments.parallelism({}, MatrixFormat::kBf16).zero_by_layer);
  CHECK(arguments.stage_choices().sharded == std::vector<std::int32_t>{4, 2, 0});
  CHECK(arguments.stage_choices().recomputed.empty());
  arguments.degrees.recompute = "layers=1-0-0";
  CHECK(arguments.stage_choices().recomputed == std::vector<std::int32_t>{1, 0, 0});
  for (const char* wrong : {"4-", "four", "4-2-0-99999999999", "-1", "layers=4"}) {
    CAPTURE(wrong);
    arguments.shard_layers = wrong;
    CHECK_THROWS_AS(arguments.stage_choices(), Error);
  }
  arguments = {};
  arguments.traffic.compress_messages = "4";
  CHECK(arguments.any());
  CHECK(arguments.parallelism({}, MatrixFormat::kBf16).activation_bits == 4);
  CHECK(arguments.parallelism({}, MatrixFormat::kBf16).activation_grad_bits == 4);
  arguments.traffic.compress_messages = "4,8";
  CHECK(arguments.parallelism({}, MatrixFormat::kBf16).activation_grad_bits == 8);
  for (const char* wrong : {"0", "4,", "4,8,8", "33", "few"}) {
    CAPTURE(wrong);
    arguments.traffic.compress_messages = wrong;
    CHECK_THROWS_AS(arguments.parallelism({}, MatrixFormat::kBf16), Error);
  }
}

TEST_CASE(
    "tensor degrees of single pipeline ranks are read, alike ones as one degree, and what is no list is refused") {
  JobArguments arguments;
  arguments.tensor_by_rank = "2-1-4";
  CHECK(arguments.any());
  arguments.sequence_parallel = true;
  const Parallelism job = arguments.parallelism({}, MatrixFormat::kBf16);
  CHECK(job.tensor_by_place == std::vector<std::int32_t>{2, 1, 4});
  CHECK(job.tensor == 4);
  CHECK(job.sequence_parallel);
  arguments.tensor_by_rank = "1-1";
  CHECK(arguments.parallelism({}, MatrixFormat::kBf16).tensor_by_place.empty());
  CHECK_FALSE(arguments.parallelism({}, MatrixFormat::kBf16).sequence_parallel);
  for (const char* wrong : {"2-", "two", "0-1", "2--1", "-2", "2,4"}) {
    CAPTURE(wrong);
    arguments.tensor_by_rank = wrong;
    CHECK_THROWS_AS(arguments.parallelism({}, MatrixFormat::kBf16), Error);
  }
  arguments.tensor_by_rank = "2-4";
  arguments.degrees.tensor = 2;
  CHECK_THROWS_WITH_AS(arguments.parallelism({}, MatrixFormat::kBf16), doctest::Contains("expected no --tp with it"),
                       Error);
}

}  // namespace plumb

TEST_SUITE_END();
