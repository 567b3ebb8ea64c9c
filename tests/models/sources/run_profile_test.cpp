#include "models/sources/run_profile.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"
#include "models/sources/backward_split.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::error_message;

namespace {

Measured took(std::int64_t ns) { return {ns, ns - 1, ns + 2, 9, ns}; }

/// Two stages; 10 ns inside every F, 20 inside I, 30 inside W. The first stage's I did nothing.
RunProfile split_run() {
  RunProfile profile;
  profile.machine = "two ranks";
  profile.runtime = "pytorch";
  profile.stages = {{.f = took(110), .i = took(3), .w = took(430)}, {.f = took(210), .i = took(120), .w = took(330)}};
  profile.inside = {.f = took(10), .i = took(20), .w = took(30)};
  profile.host = {.f = took(5), .i = took(6)};
  profile.messages = {{.bytes = 1000,
                       .send = took(7),
                       .send_posted = took(8),
                       .receive = took(9),
                       .message = took(40),
                       .capacity = 1.5}};
  profile.message_bytes = 1000;
  return profile;
}

/// One stage with a fused backward.
RunProfile fused_run() {
  RunProfile profile;
  profile.machine = "one rank";
  profile.runtime = "pytorch";
  profile.stages = {{.f = took(110), .b = took(220)}};
  profile.inside = {.f = took(10), .b = took(20)};
  return profile;
}

}  // namespace

TEST_CASE("a profile of a traced run is read as it was written") {
  const RunProfile profile = split_run();
  const std::string text = run_profile_to_json(profile);
  CHECK(run_profile_from_json(text, "p.json") == profile);
  CHECK(is_run_profile(text, "p.json"));
  CHECK_FALSE(is_run_profile(R"({"format": "plumbline-profile"})", "p.json"));
}

TEST_CASE("what is wrong in a profile of a traced run is named with its place") {
  const auto message = [](const std::string& stages) {
    const std::string text =
        R"({"format": "plumbline-run-profile", "version": 1, "machine": "m", "runtime": "pytorch", "stages_ns": )" +
        stages + "}";
    return error_message([&] { run_profile_from_json(text, "p.json"); });
  };
  const std::string some = R"({"median": 2, "p10": 1, "p90": 3, "n": 4})";
  CHECK(message("[]").find("expected at least one stage") != std::string::npos);
  CHECK(message(R"([{"B": )" + some + "}]").find("'F'") != std::string::npos);
  CHECK(message(R"([{"F": )" + some + R"(, "I": )" + some + "}]").find("expected both or B") != std::string::npos);
}

TEST_CASE("a run's own stages take what they took, except what its first stage left out") {
  const RunCosts run = run_profile_costs(split_run(), 2);
  CHECK(run.notes.empty());
  const auto& times = run.costs.times;
  CHECK(times[0].f == 110);
  CHECK(times[1].f == 210);
  CHECK(times[1].i == 120);
  CHECK(times[1].w == 330);
  // W of the first stage is a whole backward. Inside one lies what is between that of I and W, 25: 405 of operators,
  // split as the second stage's 100 to 300.
  CHECK(times[0].b == 430);
  CHECK(times[0].i == 101 + 20);
  CHECK(times[0].w == 304 + 30);
  CHECK(times[1].b == 400 + 25);
  CHECK(run.costs.runtime.f_ns == 5);
  CHECK(run.costs.runtime.i_ns == 6);
  CHECK(run.costs.runtime.w_ns == 6);  // not measured: as I
  REQUIRE(run.costs.runtime.calls.size() == 1);
  CHECK(run.costs.runtime.calls[0].send_posted_ns == 8);
}

TEST_CASE("where a stage is cut, operators are shared and the host's time inside an action is not") {
  const RunCosts run = run_profile_costs(split_run(), 4);
  CHECK(run.notes.size() == 1);
  CHECK(run.costs.times[0].f == 100 / 2 + 10);
  CHECK(run.costs.times[2].f == 200 / 2 + 10);
  CHECK(run.costs.times[3].i == 100 / 2 + 20);
  CHECK(run.costs.times[3].w == 300 / 2 + 30);
}

TEST_CASE("where stages are joined, the host's time inside an action counts once") {
  const RunCosts run = run_profile_costs(split_run(), 1);
  CHECK(run.costs.times[0].f == 100 + 200 + 10);
  CHECK(run.costs.times[0].i == 201 + 20);
}

TEST_CASE("a fused backward is split one to one, and that is told") {
  const RunCosts run = run_profile_costs(fused_run(), 1);
  CHECK(run.notes == std::vector<std::string>{"I and W are each half of the run's B"});
  CHECK(run.costs.times[0].b == 220);
  CHECK(run.costs.times[0].i == 100 + 20);
  CHECK(run.costs.times[0].w == 100 + 20);
}

TEST_CASE("a fused backward is split as the network's operations say, and a split one as it was") {
  RunProfile fused = fused_run();
  fused.input_grad_share = 0.7;
  const RunCosts run = run_profile_costs(fused, 1);
  CHECK(run.notes == std::vector<std::string>{"I is 70 % of the run's B, by the operations of its network"});
  CHECK(run.costs.times[0].i == 140 + 20);
  CHECK(run.costs.times[0].w == 60 + 20);
  CHECK(run_profile_from_json(run_profile_to_json(fused), "fused.json") == fused);
  RunProfile split = split_run();
  split.input_grad_share = 0.7;
  CHECK(run_profile_costs(split, 2).costs.times[0].i == run_profile_costs(split_run(), 2).costs.times[0].i);
}

TEST_CASE("products with weights cost as much in I as in W, and attention only in I") {
  // Of a token: two products with the s x s scores in F, four in I, of 2 s w each; 24 w^2 in each pass of a block.
  Network network = load_network("gpt-mini");
  const double attention = 8.0 * 8 * 128 * 128;
  const double products = 8.0 * 24 * 128 * 128 + 2.0 * 128 * 256;
  CHECK(input_grad_share(network) == doctest::Approx((products + attention) / (2 * products + attention)));
  network.layers.front().kind = LayerKind::kProfiled;
  CHECK(input_grad_share(network) == 0);
}

TEST_CASE("§4.10: a first stage without a gradient of its input has no I, and the whole backward in its W") {
  StageCosts costs = run_profile_costs(split_run(), 2).costs;
  skip_input_grads(costs, std::vector{StageId{0}});
  CHECK(costs.times[0].i == 0);
  CHECK(costs.times[0].w == 430);
  CHECK(costs.times[1].i == 120);
}

TEST_CASE("an update is shared by the parts of a stage, and is none where the run had none") {
  RunProfile profile = split_run();
  CHECK(run_profile_costs(profile, 2).costs.times[1].u == 0);
  profile.stages[1].u = took(60);
  CHECK(run_profile_costs(profile, 2).costs.times[1].u == 60);
  CHECK(run_profile_costs(profile, 4).costs.times[3].u == 30);
}

TEST_CASE("a profile with messages of several sizes predicts those in between, and is read as it was written") {
  RunProfile profile = split_run();
  MeasuredMessages larger = profile.messages.front();
  larger.bytes = 3000;
  larger.send = took(9);
  larger.message = took(80);
  MeasuredMessages again = profile.messages.front();
  again.message = took(1);
  add_message_sizes(profile, {larger, again});
  REQUIRE(profile.messages.size() == 2);
  profile.message_bytes = 2000;
  CHECK(run_profile_from_json(run_profile_to_json(profile), "p.json") == profile);
  const StageCosts costs = run_profile_costs(profile, 2).costs;
  CHECK(costs.message_bytes == 60);  // as many as nanoseconds
  CHECK(costs.runtime.calls[0].send_ns == 8);
  CHECK(costs.runtime.calls[0].receive_ns == 9);
}

TEST_CASE("messages of a traced run take the time that they took beside each other") {
  const Cluster cluster = run_profile_cluster(split_run(), 4);
  const std::int64_t bytes = run_profile_costs(split_run(), 4).costs.message_bytes;
  const Route route = cluster.route(DeviceId{3}, DeviceId{0});
  CHECK(route.latency_ns == 0);
  CHECK(static_cast<double>(bytes) / route.bytes_per_s == doctest::Approx(40e-9));
  REQUIRE(cluster.shared_links.size() == 1);
  CHECK(cluster.shared_links[0].bytes_per_s == doctest::Approx(1.5 * route.bytes_per_s));
}

TEST_CASE("a backward that the run split is not said to be fused, even where its I is nothing but what is inside") {
  RunProfile profile = split_run();
  profile.stages = {{.f = took(110), .i = took(20), .w = took(330)}};
  const RunCosts costs = run_profile_costs(profile, 1);
  CHECK(costs.notes.empty());
  CHECK(costs.costs.times[0].i == 20);
  CHECK(costs.costs.times[0].w == 330);
  CHECK(run_profile_costs(fused_run(), 1).notes.size() == 1);
}

TEST_SUITE_END();
