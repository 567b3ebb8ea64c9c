#include "models/pricing/price.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/costs/reverses.hpp"
#include "models/import/load_network.hpp"
#include "models/pricing/known_books.hpp"
#include "models/pricing/price_job.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::error_message;

namespace {

AnalyticJob job_of(const std::string& network, const std::string& cluster) {
  AnalyticJob job;
  job.book = std::make_shared<JobPriceBook>(std::make_shared<const Network>(load_network(network)),
                                            std::make_shared<const Cluster>(load_cluster(cluster)));
  job.network_name = network;
  job.cluster_name = cluster;
  return job;
}

PricedPipeline on_devices(const AnalyticJob& job, std::int32_t devices) {
  return price({.kind = job}, PricingShape{.num_devices = devices, .num_stages = devices});
}

/// One device per stage, whose layers have times that somebody measured.
Network measured_network() {
  Network network;
  network.name = "measured";
  for (int k = 0; k < 4; ++k) {
    LayerSpec& layer = network.layers.emplace_back();
    layer.kind = LayerKind::kProfiled;
    layer.name = "l" + std::to_string(k);
    layer.profiled.f_ns = 1000 * (k + 1);
    layer.profiled.i_ns = 1500 * (k + 1);
    layer.profiled.w_ns = 700;
  }
  return network;
}

}  // namespace

TEST_CASE("prices of the four pairs of a network and a cluster that were asked for last are kept") {
  release_known_books();
  const auto book = [](const std::string& cluster) { return known_book("gpt-tiny", cluster); };
  const std::vector<std::string> names{"a100-1x4", "a100-1x2", "a100-8x8", "h100-8x8", "h100-4x8"};
  const auto first = book(names[0]);
  const auto second = book(names[1]);
  const auto third = book(names[2]);
  const auto fourth = book(names[3]);
  REQUIRE(first != nullptr);
  CHECK(book(names[0]) == first);  // the second is the one that was not asked for longest
  CHECK(book(names[4]) != nullptr);
  CHECK(book(names[0]) == first);
  CHECK(book(names[2]) == third);
  CHECK(book(names[3]) == fourth);
  CHECK(book(names[1]) != second);
  release_known_books();
  CHECK(book(names[0]) != first);
  CHECK(known_book("gpt-tiny", "cluster.json") == nullptr);
  CHECK(known_book("network.json", names[0]) == nullptr);
  release_known_books();
}

TEST_CASE("the microbatch and the sequence of the network change nothing when they are asked for") {
  for (const char* name : {"gpt2-small", "resnet-50", "llama3-8b", "revnet-tiny"}) {
    CAPTURE(name);
    const AnalyticJob usual = job_of(name, "a100");
    AnalyticJob asked = usual;
    asked.parallelism.microbatch_size = usual.network().samples;
    asked.parallelism.sequence = usual.network().sequence;
    const PricedPipeline one = on_devices(usual, 2);
    const PricedPipeline other = on_devices(asked, 2);
    CHECK(one.costs.times == other.costs.times);
    CHECK(one.costs.memory == other.costs.memory);
    CHECK(one.description == other.description);
    CHECK(one.partition == other.partition);
  }
}

TEST_CASE("too few devices are told with a cluster that has enough") {
  AnalyticJob job = job_of("llama3-8b", "h100");
  job.parallelism.data = 2;
  CHECK(on_devices(job, 4).cluster->devices.size() >= 4);
  CHECK(error_message([&] { on_devices(job, 8); }) ==
        "--cluster: h100 has 8 devices, a pipeline of 8 with 2 devices each (tensor x context x data) needs 16; "
        "expected --cluster h100-2x8");
  job.parallelism.data = 1;
  CHECK(error_message([&] { on_devices(job, 9); }) ==
        "--cluster: h100 has 8 devices, a pipeline of 9 needs 9; expected --cluster h100-2x8");
}

TEST_CASE("layers with measured times take what was measured, and nothing beside it") {
  AnalyticJob job = job_of("gpt-tiny", "v100");
  job.book = std::make_shared<JobPriceBook>(std::make_shared<const Network>(measured_network()), job.book->cluster());
  job.cut = cut_as({{0, 1, 4}});
  const PricedPipeline priced = on_devices(job, 2);
  CHECK(priced.costs.times[0].f == 1000);
  CHECK(priced.costs.times[1].f == 2000 + 3000 + 4000);
  CHECK(priced.costs.times[1].i == 1500 * 9);
  CHECK(priced.costs.times[1].w == 3 * 700);
  CHECK(priced.costs.times[1].u == 0);
  CHECK_FALSE(priced.rates);
  job.cut = {};  // 3200, 5700, 8200 and 10700: the largest of two stages is least where the last two... 17100 | 10700
  CHECK(on_devices(job, 2).partition->bounds == std::vector<std::size_t>{0, 3, 4});
  job.parallelism.data = 2;
  CHECK(error_message([&] { on_devices(job, 2); }).find("expected one device per stage") != std::string::npos);
}

TEST_CASE("a reversible stage keeps nothing, and its backward begins with another forward") {
  AnalyticJob job = job_of("revnet-tiny", "a100");
  job.cut = parse_cut("5,2,4,8");
  const PricedPipeline priced = on_devices(job, 4);
  std::size_t reversible = 0;
  for (std::size_t s = 0; s < 4; ++s) {
    if (!reverses(priced.costs.memory[s])) continue;
    ++reversible;
    CHECK(priced.costs.times[s].i > priced.costs.times[s].f);
    CHECK(priced.costs.times[s].b == priced.costs.times[s].i + priced.costs.times[s].w);
  }
  CHECK(reversible > 0);
}

TEST_CASE("slices of a microbatch add up to its bytes, and the later ones of its samples take equal times") {
  AnalyticJob job = job_of("gpt2-small", "a100");
  job.parallelism.microbatch_size = 2;
  const StageCosts costs = on_devices(job, 2).costs;
  REQUIRE(costs.part);
  const auto half = [&](std::int64_t k) {
    return costs.part(StageId{0}, {.begin = k, .end = k + 1, .whole = 2}, costs.times[0]);
  };
  CHECK(half(0).memory.output_bytes + half(1).memory.output_bytes == costs.memory[0].output_bytes);
  CHECK(half(0).times.f == half(1).times.f);
  CHECK(std::abs(half(0).times.f * 2 - costs.times[0].f) <= 1);
}

TEST_CASE("cuts are named, or have as many counts as there are stages") {
  CHECK(parse_cut("balanced") == LayerCut{});
  CHECK(parse_cut("equal").kind == LayerCut::Kind::kEqual);
  CHECK(parse_cut("finest").kind == LayerCut::Kind::kFinest);
  CHECK(parse_cut("3,4").counts == std::vector<std::size_t>{3, 4});
  CHECK(cut_as({{0, 3, 7}}) == parse_cut("3,4"));
  CHECK(error_message([] { parse_cut("blanced"); }).find("found 'blanced'") != std::string::npos);
  AnalyticJob job = job_of("gpt-tiny", "a100");
  job.cut = parse_cut("5,6");
  CHECK(on_devices(job, 2).partition->bounds == std::vector<std::size_t>{0, 5, 11});
  CHECK(error_message([&] { on_devices(job, 3); }) == "--partition: 5,6 has 2 stages, expected 3");
  job.cut = parse_cut("5,7");
  CHECK(error_message([&] { on_devices(job, 2); }) == "partition '5,7': adds up to 12 layers, expected 11");
}

TEST_CASE("of unlike tensor degrees there is one for each place, also where all are alike") {
  AnalyticJob job = job_of("gpt2-small", "a100");
  job.tensor_by_place = {1, 1, 1};
  CHECK(error_message([&] { on_devices(job, 2); }) ==
        "--tp-by-rank: 1-1-1 has 3 degrees, expected one for each of the 2 pipeline ranks");
  const PricingShape straight{.num_devices = 3, .num_stages = 3};
  CHECK(places_of_stages(straight, {1, 2, 4}) == std::vector<std::int32_t>{0, 1, 2});
  CHECK_FALSE(error_message([] { places_of_stages({.num_devices = 2, .num_stages = 4}, {1, 2}); }).empty());
}

TEST_CASE("a backward that nobody gives takes as long as two forwards, where there is one") {
  const auto times = [](const char* list, bool forward_only) {
    const CostSource source{.kind = AbstractUnits{.times = list}};
    return price(source, PricingShape{.num_devices = 1, .num_stages = 1, .forward_only = forward_only});
  };
  const StageTimes completed = times("F=1/3", false).costs.times[0];
  CHECK(completed.i == completed.f);
  CHECK(completed.w == completed.f);
  CHECK(completed.b == 2 * completed.f);
  CHECK(times("F=1", false).description.find("no backward was given") != std::string::npos);
  CHECK(times("F=1", true).costs.times[0].b == 0);
  CHECK(times("F=1", true).description == "F=1");
  for (const char* given : {"F=1,B=0", "F=1,I=2", "F=1,W=0"}) {
    CAPTURE(given);
    CHECK(times(given, false).description == given);
  }
  CHECK(times("F=1,I=2", false).costs.times[0].w == 0);
}

TEST_CASE("abstract costs are those of 1/p of the model, or with per_stage those of a stage") {
  const auto priced = [](std::int32_t stages, bool per_stage) {
    const CostSource source{.kind = AbstractUnits{.times = "F=1,B=2,comm=1", .per_stage = per_stage}};
    return price(source, PricingShape{.num_devices = 4, .num_stages = stages});
  };
  const auto model_ms = [&](std::int32_t stages, bool per_stage) {
    const StageCosts costs = priced(stages, per_stage).costs;
    CHECK(costs.comm == 1'000'000 * costs.base.ticks_per_ns);
    Ticks all = 0;
    for (const StageTimes& stage : costs.times) all += stage.f + stage.b;
    return static_cast<double>(all) / static_cast<double>(costs.base.ticks_per_ns) / 1e6;
  };
  for (const std::int32_t stages : {1, 2, 4, 6, 8, 12}) {
    CAPTURE(stages);
    CHECK(model_ms(stages, false) == doctest::Approx(12));
    CHECK(model_ms(stages, true) == doctest::Approx(3 * stages));
  }
  CHECK(priced(8, false).description == "F=1,B=2,comm=1 per device");
  CHECK(priced(8, true).description == "F=1,B=2,comm=1 per stage");
  CHECK(priced(4, true).description == priced(4, false).description);
}

TEST_CASE("jitter is given to every device, and makes devices where there is no cluster") {
  const CostSource source{.kind = AbstractUnits{.times = "F=1,B=2"}, .jitter = 0.1};
  const PricedPipeline priced = price(source, PricingShape{.num_devices = 3, .num_stages = 3});
  REQUIRE(priced.cluster);
  CHECK(priced.cluster->devices.size() == 3);
  for (const DeviceSpec& device : priced.cluster->devices) CHECK(device.jitter == 0.1);
}

TEST_SUITE_END();
