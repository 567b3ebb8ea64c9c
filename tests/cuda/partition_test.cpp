#include "trainer/cuda/green_partition.hpp"

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/cuda/fake_driver.hpp"
#include "trainer/cuda/partition_check.hpp"

TEST_SUITE_BEGIN("cuda");

namespace plumb::cuda {
namespace {

constexpr unsigned int kAnyPairs = FakeDriver::kAnyPairs;

PartitionPlan plan(const FakeDriver& driver, int devices, PartitionMode mode, int sms = 0) {
  return plan_partition(driver.functions(), 0, {devices, mode, sms});
}

}  // namespace

TEST_CASE("for accuracy, 8 virtual devices have 8 SMs each on every die of 132 SMs, and copies have a group") {
  for (const unsigned int groups : {13U, 14U, 15U, 16U}) {
    CAPTURE(groups);
    const FakeDriver driver(132, groups);
    const PartitionPlan chosen = plan(driver, 8, PartitionMode::kAccuracy);
    CHECK(chosen.split.sms == 8);
    CHECK(chosen.split.flags == 0);
    CHECK(chosen.split.groups == groups);
    CHECK(chosen.copies_have_group);
    CHECK(chosen.split.left_over == 132 - 8 * groups);
  }
}

TEST_CASE("as many devices as groups leave the copies what is left over; one more takes any pairs of SMs") {
  const FakeDriver driver(132, 15);
  const PartitionPlan fifteen = plan(driver, 15, PartitionMode::kAccuracy);
  CHECK(fifteen.split.flags == 0);
  CHECK_FALSE(fifteen.copies_have_group);
  CHECK(fifteen.split.left_over == 12);
  const PartitionPlan sixteen = plan(driver, 16, PartitionMode::kAccuracy);
  CHECK(sixteen.split.flags == kAnyPairs);
  CHECK(sixteen.split.sms == 8);
  CHECK(sixteen.split.left_over == 4);
}

TEST_CASE("for throughput, devices have the largest equal parts that leave something for the copies") {
  const FakeDriver driver(132, 15);
  struct Row {
    int devices;
    unsigned int sms;
  };
  // 2 x 66, 3 x 44 and 6 x 22 would leave nothing.
  for (const Row row : {Row{2, 64}, Row{3, 42}, Row{4, 32}, Row{6, 20}, Row{8, 16}, Row{12, 10}, Row{16, 8}}) {
    CAPTURE(row.devices);
    CHECK(plan(driver, row.devices, PartitionMode::kThroughput).split.sms == row.sms);
  }
}

TEST_CASE("an odd number of SMs is rounded down, since the driver gives them in pairs") {
  const FakeDriver driver(132, 15);
  const PartitionPlan chosen = plan(driver, 8, PartitionMode::kThroughput, 9);
  CHECK(chosen.split.sms == 8);
  GreenPartition partition(driver.functions(), 0, chosen, 8);
  CHECK(partition.sms(0) == 8);
}

TEST_CASE("sizes that the driver refuses are passed over, and when nothing is enough all of them are told") {
  FakeDriver driver(132, 15);
  driver.refused_sizes = {8};
  CHECK(plan(driver, 8, PartitionMode::kAccuracy).split.sms == 6);
  driver.refused_sizes = {2, 4, 6, 8};
  CHECK_THROWS_WITH_AS(plan(driver, 8, PartitionMode::kAccuracy),
                       doctest::Contains("8 and room for copies do not fit into 132 SMs; possible: 0 groups of 8 SMs"),
                       Error);
  driver.refused_sizes = {};
  CHECK_THROWS_WITH_AS(plan(driver, 66, PartitionMode::kAccuracy), doctest::Contains("66 groups of 2 SMs in any pairs"),
                       Error);
}

TEST_CASE("a partition is one split; its streams go before its contexts") {
  FakeDriver driver(132, 15);
  {
    const PartitionPlan chosen = plan(driver, 8, PartitionMode::kAccuracy);
    GreenPartition partition(driver.functions(), 0, chosen, 8);
    CHECK(driver.splits == 1);
    CHECK(driver.contexts == 9);
    CHECK(partition.sms(7) == 8);
    CHECK(partition.sms(GreenPartition::kCopies) == 8);
    partition.make_stream(0, 0);
    partition.make_stream(GreenPartition::kCopies, -1);
    CHECK(driver.streams == 2);
  }
  CHECK(driver.contexts == 0);
  CHECK(driver.streams == 0);
  CHECK_FALSE(driver.stream_outlived_context);
}

TEST_CASE("a context with fewer SMs than its group is found out, and nothing stays behind") {
  FakeDriver driver(132, 15);
  const PartitionPlan chosen = plan(driver, 8, PartitionMode::kAccuracy);
  driver.gives_less = true;
  CHECK_THROWS_WITH_AS(GreenPartition(driver.functions(), 0, chosen, 8),
                       doctest::Contains("number 0 has 6 SMs; expected 8"), Error);
  CHECK(driver.contexts == 0);
}

TEST_CASE("a driver error says the call and its code") {
  CHECK_THROWS_WITH_AS(check_driver(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "cuGreenCtxCreate"),
                       doctest::Contains("cuGreenCtxCreate failed (invalid resource configuration, 915"), Error);
  CHECK_THROWS_WITH_AS(check_driver(CUDA_ERROR_INVALID_CLUSTER_SIZE, "cuLaunchKernelEx"), doctest::Contains("code 912"),
                       Error);
  CHECK_FALSE(GreenDriver{}.complete());
}

TEST_CASE("parts that share multiprocessors are found, streams of one part may share") {
  const std::vector<unsigned int> low{5, 5, 0, 0};
  const std::vector<unsigned int> high{0, 0, 3, 4};
  CHECK(find_overlaps({{"device 0", low, 2, 0}, {"device 1", high, 2, 1}, {"copies", high, 2, 1}}).empty());
  const auto findings = find_overlaps({{"device 0", low, 2, 0}, {"device 1", {0, 1, 1, 0}, 2, 1}});
  REQUIRE(findings.size() == 1);
  CHECK(findings.front() == "device 1 and device 0 share SMs 1");
  const auto wide = find_overlaps({{"device 0", {1, 1, 1, 1}, 2, 0}});
  REQUIRE(wide.size() == 1);
  CHECK(wide.front() == "device 0 runs on 4 SMs (0-3); expected 2");
}

TEST_CASE("streams that take turns are found by their time") {
  CHECK(find_false_waits({2'000'000, 2'100'000, 24}).empty());
  CHECK(find_false_waits({2'000'000, 4'000'000, 24}).size() == 1);
}

}  // namespace plumb::cuda

TEST_SUITE_END();
