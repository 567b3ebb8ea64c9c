#include "models/sources/profile.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"
#include "models/stages/network_costs.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::error_message;

namespace {

Measured about(std::int64_t ns) { return {ns, ns - 1, ns + 2, 9}; }

/// gpt-tiny (11 layers) on two stages, with layer times 1 + position.
Profile sample() {
  Profile profile;
  profile.machine = "a \"machine\"";
  profile.backend = "cpu";
  profile.network = "gpt-tiny";
  profile.shape = {2, 64};
  profile.stages.push_back({{0, 5}, 2, about(100), about(190), about(110), about(90), {}, about(50), {}, {}});
  profile.stages.push_back({{5, 11}, 1, about(200), {}, about(210), about(190), about(199), about(60), {}, {}});
  profile.crowded.push_back({{0, 5}, 6, about(120), about(230), about(130), about(94), {}, about(55), {}, {}});
  profile.crowded.push_back({{5, 11}, 6, about(220), {}, about(220), about(200), about(200), about(60), {}, {}});
  for (std::size_t k = 0; k < 11; ++k) {
    const auto ns = static_cast<std::int64_t>(k + 1);
    profile.layers.push_back(
        {{k, k + 1}, 0, about(ns), {}, about(10 * ns), about(100 * ns), {}, about(1000 * ns), {}, {}});
  }
  profile.transfers = {{100, 1000, 1e9}, {10000, 2000, 2.5e9}};
  return profile;
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = profile_to_json(sample());
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  return error_message([&] { profile_from_json(text, "p.json"); });
}

}  // namespace

TEST_CASE("a profile survives writing and reading") {
  CHECK(profile_from_json(profile_to_json(sample()), "p.json") == sample());
  Profile least = sample();
  least.layers.clear();
  least.transfers.clear();
  CHECK(profile_from_json(profile_to_json(least), "p.json") == least);
}

TEST_CASE("times lie between those of calm and of crowded stages, by the microbatches in flight") {
  const Network network = load_network("gpt-tiny");
  const auto times = [&](std::int64_t in_flight) {
    return profile_costs(sample(), network, profiled_partition(sample()), std::vector(2, in_flight)).times[0];
  };
  CHECK(times(1) == times(2));
  CHECK(times(3) == StageTimes{.f = 105, .b = 200, .i = 115, .w = 91, .r = 105, .u = 50});
  CHECK(times(6) == StageTimes{.f = 120, .b = 230, .i = 130, .w = 94, .r = 120, .u = 50});
  CHECK(times(99) == times(6));
}

TEST_CASE("crowded stages are the stages") {
  Profile other = sample();
  other.crowded.pop_back();
  const std::string text = profile_to_json(other);
  CHECK(error_message([&] { profile_from_json(text, "p.json"); }).find("expected the layers of the stages") !=
        std::string::npos);
}

TEST_CASE("the profiled partition costs its medians; B and R fall back to I + W and F") {
  const Network network = load_network("gpt-tiny");
  const StageCosts costs = profile_costs(sample(), network, profiled_partition(sample()));
  REQUIRE(costs.times.size() == 2);
  CHECK(costs.base.ticks_per_ns == 1);
  CHECK(costs.times[0] == StageTimes{.f = 100, .b = 190, .i = 110, .w = 90, .r = 100, .u = 50});
  CHECK(costs.times[1] == StageTimes{.f = 200, .b = 400, .i = 210, .w = 190, .r = 199, .u = 60});
  CHECK(costs.memory == untimed_costs(network, profiled_partition(sample()), {2, 64}, {}).memory);
  CHECK(costs.work.samples_per_microbatch == 2);
}

TEST_CASE("another partition costs the sums of its layers") {
  const StageCosts costs = profile_costs(sample(), load_network("gpt-tiny"), parse_partition("2,9", 11));
  CHECK(costs.times[0] == StageTimes{.f = 3, .b = 330, .i = 30, .w = 300, .r = 3, .u = 3000});
  CHECK(costs.times[1].f == 66 - 3);
}

TEST_CASE("what a profile does not hold is refused with what it holds") {
  Profile profile = sample();
  profile.layers.clear();
  CHECK(error_message([&] { profile_costs(profile, load_network("gpt-tiny"), parse_partition("2,9", 11)); }) ==
        "profile of 'gpt-tiny': has no times for layers 0 to 2, expected the profiled partition 5,6 or a profile with "
        "layer times");
  CHECK(error_message([&] { profile_costs(profile, load_network("gpt-mini"), parse_partition("2,17", 19)); }) ==
        "profile: is of 'gpt-tiny' with 11 layers, expected 'gpt-mini' with 19");
}

TEST_CASE("transfers become links with the figures measured nearest to the message") {
  const Cluster small = profile_cluster(sample(), 3, 4000);
  CHECK(small.devices.size() == 3);
  CHECK(small.route(DeviceId{0}, DeviceId{2}) == Route{1000, 1e9, {}, false});
  CHECK(profile_cluster(sample(), 2, 6000).route(DeviceId{1}, DeviceId{0}) == Route{2000, 2.5e9, {}, false});
  Profile none = sample();
  none.transfers.clear();
  CHECK(profile_cluster(none, 2, 6000).route(DeviceId{1}, DeviceId{0}) == Route{0, 0, {}, false});
}

TEST_CASE("a profile that says something wrong is refused at the place") {
  CHECK(changed("\"layers\":[5,11]", "\"layers\":[6,11]") ==
        "p.json:8:16: stages[1].layers[0]: expected an integer from 5 to 5, found 6");
  CHECK(changed("\"median\":100,", "\"median\":103,").find("stages[0].f_ns.p90: expected an integer") !=
        std::string::npos);
  CHECK(changed("\"i_ns\"", "\"j_ns\"").find("stages[0]: unknown key 'j_ns' (did you mean 'f_ns'?)") !=
        std::string::npos);
  CHECK(changed("\"layers\":[10,11]", "\"layers\":[10,12]")
            .find("layers[10].layers[1]: expected an integer from 11 to 11, found 12") != std::string::npos);
  CHECK(changed("\"bytes\":10000", "\"bytes\":100").find("transfers[1].bytes: expected an integer from 101 to") !=
        std::string::npos);
  CHECK(changed("\"bytes_per_s\":2500000000.0", "\"bytes_per_s\":0").find("expected a number from 1 to") !=
        std::string::npos);
  CHECK(changed("[0,5]", "[0]").find("stages[0].layers: expected [begin, end], found an array of 1") !=
        std::string::npos);
}

TEST_SUITE_END();
