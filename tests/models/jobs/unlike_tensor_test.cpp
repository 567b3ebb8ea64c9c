#include "models/jobs/unlike_tensor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/job_places.hpp"

TEST_SUITE_BEGIN("models");

namespace {

using namespace plumb;

using Degrees = std::vector<std::int32_t>;

/// Two nodes: `fast` devices, and as many that are a fourth as fast, of which the last are of a third kind.
Cluster two_kinds(std::int32_t per_node, bool shared) {
  Cluster cluster;
  cluster.name = "two kinds";
  cluster.devices_per_node = per_node;
  for (std::int32_t d = 0; d < 2 * per_node; ++d) {
    cluster.devices.push_back({.name = d < per_node ? "fast" : "slow",
                               .flops_per_s = d < per_node ? 1e12 : 2.5e11,
                               .memory_bytes_per_s = 1e11,
                               .memory_bytes = 16'000'000'000});
  }
  cluster.intra_node = {.latency_ns = 1000, .bytes_per_s = 1e10};
  cluster.inter_node = {.latency_ns = 5000, .bytes_per_s = 1e9, .shared = shared};
  cluster.finish();
  return cluster;
}

/// GPT-2 small in four stages, whose embedding the head shares.
struct UnlikeStages {
  Network network = load_network("gpt2-small");
  Cluster cluster = two_kinds(8, false);
  Partition partition = equal_partition(network, 4);

  JobCosts costs(const Parallelism& job, const StageChoices& choices = {}) const {
    if (job.has_unlike_tensor()) return unlike_job_costs(network, partition, {cluster, 4}, job, choices);
    return job_costs(network, partition, {cluster, 4}, job);
  }
  JobCosts unlike(const Degrees& degrees, const Degrees& places = {0, 1, 2, 3}) const {
    return costs(with_tensor_by_place({.sequence_parallel = true}, degrees), {.places = places});
  }
  JobCosts alike(std::int64_t tensor) const { return costs(with_tensor({.sequence_parallel = true}, tensor)); }
};

/// Bytes of the stage itself, without what its messages have otherwise.
StageMemory own_bytes(StageMemory memory) {
  memory.sent_output_bytes = memory.sent_input_grad_bytes = 0;
  return memory;
}

}  // namespace

TEST_CASE("alike degrees are one degree") {
  const Parallelism job = with_tensor_by_place({.data = 2, .sequence_parallel = true}, {4, 4, 4});
  CHECK_FALSE(job.has_unlike_tensor());
  CHECK(job == with_tensor({.data = 2, .sequence_parallel = true}, 4));
  CHECK(tensor_degrees(job) == std::vector<std::int64_t>{4});
  const Parallelism unlike = with_tensor_by_place({.data = 2}, {1, 4, 2, 4});
  CHECK(unlike.tensor == 4);
  CHECK(tensor_degrees(unlike) == std::vector<std::int64_t>{1, 2, 4});
  CHECK(unlike.devices_of(2) == 4);
  CHECK_FALSE(with_tensor({.sequence_parallel = true}, 1).sequence_parallel);
}

TEST_CASE("places lie one behind another, and none in two nodes that fits into one") {
  const Cluster cluster = two_kinds(8, false);
  const auto firsts = [&](const Degrees& degrees, std::int64_t data) {
    std::vector<std::int64_t> first;
    const Parallelism job = with_tensor_by_place({.data = data}, degrees);
    for (const PlaceDevices& place : place_devices(cluster, job, static_cast<std::int32_t>(degrees.size()))) {
      first.push_back(place.first);
    }
    return first;
  };
  CHECK(firsts({4, 2, 2, 8}, 1) == std::vector<std::int64_t>{0, 4, 6, 8});
  CHECK(firsts({4, 2, 4, 4}, 1) == std::vector<std::int64_t>{0, 4, 8, 12});
  CHECK(firsts({1, 2, 4}, 2) == std::vector<std::int64_t>{0, 2, 8});
  CHECK(firsts({1, 8}, 2) == std::vector<std::int64_t>{0, 8});        // 16 ranks: from the next node on
  CHECK(firsts({3, 3, 3}, 1) == std::vector<std::int64_t>{0, 3, 6});  // alike ones always did
}

TEST_CASE("the pipeline of unlike places has their nodes, the slowest of their devices, and their links") {
  Cluster cluster = two_kinds(4, true);
  const Parallelism job = with_tensor_by_place({}, {1, 1, 2, 4});
  const Cluster pipeline = pipeline_of(cluster, job, 4);
  CHECK(pipeline.nodes == Degrees{0, 0, 0, 1});
  CHECK(pipeline.num_nodes() == 2);
  REQUIRE(pipeline.devices.size() == 4);
  CHECK(pipeline.devices[2].speed == 1.0);
  CHECK(pipeline.devices[3].speed == 0.25);
  CHECK(pipeline.route(DeviceId{0}, DeviceId{2}).bytes_per_s == 1e10);
  const Route far = pipeline.route(DeviceId{2}, DeviceId{3});
  CHECK(far.bytes_per_s == 1e9);  // a rank of the smallest place has the card alone
  CHECK(far.latency_ns == 5000);
  CHECK(pipeline.shared_links[static_cast<std::size_t>(far.shared[0])].name == "node0.out");
  CHECK(pipeline.shared_links[static_cast<std::size_t>(far.shared[1])].name == "node1.in");
  cluster.contention.message_share = 0.1;
  CHECK_THROWS_AS(pipeline_of(cluster, job, 4), Error);
}

TEST_CASE("a stage on unlike places costs what it costs where all have its degree") {
  const UnlikeStages four;
  const Degrees degrees{1, 2, 4, 2};
  const Degrees places{0, 2, 1, 3};
  const JobCosts unlike = four.unlike(degrees, places);
  REQUIRE(unlike.costs.times.size() == 4);
  for (std::size_t s = 0; s < 4; ++s) {
    CAPTURE(s);
    const JobCosts alike = four.alike(degrees[static_cast<std::size_t>(places[s])]);
    CHECK(unlike.costs.times[s] == alike.costs.times[s]);
    CHECK(own_bytes(unlike.costs.memory[s]) == alike.costs.memory[s]);
    CHECK(unlike.updates[s].all() == alike.updates[s].all());
    const LayerRange range = four.partition.range(s);
    CHECK(unlike.costs.layer_forward[range.begin] == alike.costs.layer_forward[range.begin]);
  }
  // Nine devices at their peak, for each of four places.
  CHECK(unlike.costs.work.peak_flops_per_s == doctest::Approx(1e12 * 9 / 4));
  CHECK(unlike.costs.work.model_flops_per_microbatch == four.alike(1).costs.work.model_flops_per_microbatch);
}

TEST_CASE("messages and gradients of a shared weight are those of the fewer ranks") {
  const UnlikeStages four;
  const JobCosts unlike = four.unlike({4, 2, 2, 1});
  const auto message = [&](std::int64_t tensor) { return four.alike(tensor).costs.memory[1].output_bytes; };
  CHECK(message(2) == 2 * message(4));
  CHECK(unlike.costs.memory[0].message_bytes(false) == message(2));
  CHECK(unlike.costs.memory[0].output_bytes == message(4));  // what a rank holds of it
  CHECK(unlike.costs.memory[1].message_bytes(true) == message(2));
  CHECK(unlike.costs.memory[1].message_bytes(false) == message(2));
  CHECK(unlike.costs.memory[2].message_bytes(false) == message(1));
  CHECK(unlike.costs.memory[3].message_bytes(true) == message(1));
  REQUIRE(unlike.costs.tied.size() == 1);
  CHECK(unlike.costs.tied.front().bytes == four.alike(1).costs.tied.front().bytes);
  // All ranks of a node send through its card: as much of each message as among the fewest ranks of all.
  UnlikeStages shared;
  shared.cluster = two_kinds(8, true);
  const JobCosts over_card = shared.unlike({1, 4, 4, 4});
  CHECK(over_card.costs.memory[1].message_bytes(false) == message(1));  // from the first node to the second
  CHECK(over_card.costs.memory[2].message_bytes(false) == message(4));  // inside the second
}

TEST_CASE("clusters are divided by the kinds of their devices") {
  const Cluster cluster = two_kinds(8, false);
  CHECK(count_device_kinds(cluster) == 2);
  CHECK(count_device_kinds(load_cluster("a100-2x8")) == 1);
  const auto divided = [&](const Cluster& of, const Degrees& by_kind, std::int64_t data) {
    return divided_by_kind(of, Parallelism{.data = data}, by_kind).tensor_by_place;
  };
  CHECK(divided(cluster, {2, 4}, 1) == Degrees{2, 2, 2, 2, 4, 4});
  CHECK(divided(cluster, {2, 4}, 2) == Degrees{2, 2, 4});
  CHECK(divided(cluster, {8, 1}, 1) == Degrees{8, 1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(divided(cluster, {2, 2}, 1).empty());
  // Three ranks leave two devices of the first node, which make up no place of the first kind.
  CHECK(divided(cluster, {3, 4}, 1) == Degrees{3, 3, 4, 4});
  CHECK(divided(cluster, {4, 8}, 2) == Degrees{});  // 16 ranks of the second kind: too many
}

TEST_CASE("what unlike degrees cannot have is refused") {
  const UnlikeStages four;
  const auto refused = [&](Parallelism job, const StageChoices& choices, const char* why) {
    CAPTURE(why);
    job = with_tensor_by_place(job, {1, 2, 2, 2});
    try {
      four.costs(job, choices);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(why) != std::string::npos);
    }
  };
  refused({}, {}, "expected the place of each of the 4 stages, found 0");
  refused({}, {.places = {0, 1, 2, 4}}, "stages stand on pipeline rank 4");
  refused({}, {.recomputed = {1, 0, 0, 0}, .places = {0, 1, 2, 3}}, "no choices of single stages");
  refused({.recompute = ActivationRecompute::kFitted}, {.places = {0, 1, 2, 3}}, "no choices of single stages");
  refused({.expert = 2}, {.places = {0, 1, 2, 3}}, "expected an expert degree of 1, found 2");
  refused({.data = 3}, {.places = {0, 1, 2, 3}}, "has 16 devices, expected at least");
}

TEST_SUITE_END();
