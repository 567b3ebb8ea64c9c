#include "sim/timeline/timeline_io.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

constexpr std::size_t at(IdleCause cause) { return static_cast<std::size_t>(cause); }

/// One device that is busy 3 of 7 ticks.
Timeline small_timeline(std::int64_t ticks_per_ns) {
  Timeline timeline;
  timeline.schedule = "hand \"made\"\n";
  timeline.machine = "none";
  timeline.base.ticks_per_ns = ticks_per_ns;
  timeline.num_microbatches = 1;
  timeline.makespan = timeline.step_time = timeline.longest_device_span = 7;
  timeline.bubble_fraction = 4.0 / 7;
  timeline.bubble_rate = 0.1;
  timeline.utilization = 3.0 / 7;
  timeline.tokens_per_s = 1e9 / 3;
  timeline.search = SearchedSpan{.found = 6, .bound = 5};
  DeviceSummary& device = timeline.devices.emplace_back();
  device.busy = device.useful = 3;
  device.idle = 4;
  device.idle_causes[at(IdleCause::kWarmup)] = 2;
  device.idle_causes[at(IdleCause::kCompute)] = 1;
  device.idle_causes[at(IdleCause::kDrain)] = 1;
  device.first_start = 2;
  device.last_end = 6;
  device.peak_activations = 1.5;
  timeline.critical_path = {{"F", 4}, {"transfer_latency", 2}, {"B", 1}};
  return timeline;
}

std::string message_of(const std::string& text) {
  try {
    timeline_from_json(text, "t.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto found = text.find(what);
  REQUIRE(found != std::string::npos);
  return text.replace(found, what.size(), with);
}

Timeline simulated_on(std::string_view name, const Cluster* cluster) {
  StageCosts costs;
  StageTimes times;
  times.f = 10;
  times.b = 21;
  times.i = 11;
  times.w = 10;
  times.u = 3;
  costs.times.assign(4, times);
  StageMemory memory;
  memory.weight_bytes = 5;
  memory.gradient_bytes = 10;
  memory.output_bytes = memory.output_grad_bytes = memory.input_bytes = memory.input_grad_bytes = 12;
  memory.stash = {{"s", 7, StashTensor::MadeBy::kForward, LastUse::kWeightGrad}};
  costs.memory.assign(4, memory);
  costs.memory.front().input_bytes = costs.memory.front().input_grad_bytes = 0;
  costs.memory.back().output_bytes = costs.memory.back().output_grad_bytes = 0;
  const Schedule schedule = generate(name, {.num_devices = 4, .num_microbatches = 4, .chunks = 1, .options = {}});
  SimOptions options;
  options.peak_composition = true;
  const Program program = lower(schedule, costs, cluster);
  Timeline timeline = simulate(program, options);
  timeline.delays = stage_delays(schedule, program);
  timeline.schedule = name;
  return timeline;
}

}  // namespace

TEST_CASE("a timeline document has the keys that the design fixes") {
  const auto json = nlohmann::json::parse(timeline_to_json(small_timeline(1)));
  for (const char* key : {"format", "version", "kind", "makespan_ns", "step_time_ns", "longest_device_span_ns",
                          "bubble_fraction", "bubble_rate", "utilization", "devices", "spans", "memory"}) {
    CAPTURE(key);
    CHECK(json.contains(key));
  }
  for (const char* key : {"busy_ns", "useful_ns", "idle_ns", "idle_causes_ns", "peak_memory_bytes",
                          "peak_memory_by_class", "peak_activations"}) {
    CAPTURE(key);
    CHECK(json["devices"][0].contains(key));
  }
  CHECK(json["format"] == "plumbline-timeline");
  CHECK(json["kind"] == "simulated");
  CHECK(json["schedule"] == "hand \"made\"\n");
}

TEST_CASE("§9.5: times of less than a nanosecond are rounded so that sums still hold") {
  for (const std::int64_t ticks_per_ns : {2, 3, 4, 5, 6, 7, 9}) {
    CAPTURE(ticks_per_ns);
    const Timeline read = timeline_from_json(timeline_to_json(small_timeline(ticks_per_ns)), "t.json");
    const DeviceSummary& device = read.devices[0];
    CHECK(device.busy + device.idle == read.makespan);
    CHECK(device.idle_causes[at(IdleCause::kWarmup)] >= device.idle_causes[at(IdleCause::kDrain)]);
    Ticks path = 0;
    for (const CriticalShare& share : read.critical_path) path += share.ticks;
    CHECK(path == read.makespan);
  }
}

TEST_CASE("what is written is read back equal, spans, memory, peak tensors and delays included, for all schedules") {
  Cluster cluster;
  cluster.devices.resize(4);
  cluster.devices_per_node = 4;
  cluster.intra_node = {.latency_ns = 2, .bytes_per_s = 1e9};
  cluster.finish();
  for (const std::string_view name : {"gpipe", "1f1b", "zb-h1", "chimera", "pipedream"}) {
    CAPTURE(name);
    const Timeline written = simulated_on(name, &cluster);
    REQUIRE(!written.spans.empty());
    REQUIRE(!written.memory.empty());
    const std::string text = timeline_to_json(written);
    const Timeline read = timeline_from_json(text, "t.json");
    CHECK(read.devices == written.devices);
    CHECK(read.spans == written.spans);
    CHECK(read.memory == written.memory);
    CHECK(read.delays.size() >= 4);
    CHECK(read == written);
    CHECK(timeline_to_json(read) == text);
  }
}

TEST_CASE("what is known of a traced run beside the step that is shown is read back equal, and nonsense is refused") {
  Timeline written = small_timeline(1);
  written.traced = TracedFacts{.step_ns = {7, 9, 30},
                               .step = 1,
                               .disturbed_steps = {2},
                               .ranks = {0, 4},
                               .missing_ranks = {4},
                               .clock_offsets_ns = {0, -1'500},
                               .clock_residual_ns = 12,
                               .backend = "gloo",
                               .left_out = {"The traces \"begin\" late."}};
  RunProfile profile;
  profile.machine = "two ranks";
  profile.runtime = "pytorch";
  profile.stages.emplace_back().f = {.median_ns = 5, .p10_ns = 4, .p90_ns = 6, .count = 3};
  written.traced->profile = profile;
  const std::string text = timeline_to_json(written);
  const Timeline read = timeline_from_json(text, "t.json");
  CHECK(read.traced == written.traced);
  CHECK(timeline_to_json(read) == text);
  CHECK_FALSE(timeline_from_json(timeline_to_json(small_timeline(1)), "t.json").traced.has_value());
  CHECK(message_of(replaced(text, "\"step\":1", "\"step\":3")).find("traced.step") != std::string::npos);
  CHECK(message_of(replaced(text, "\"disturbed_steps\":[2]", "\"disturbed_steps\":[3]")).find("disturbed_steps") !=
        std::string::npos);
  CHECK(message_of(replaced(text, "\"missing_ranks\":[4]", "\"missing_ranks\":[3]")).find("expected some of ranks") !=
        std::string::npos);
  CHECK(message_of(replaced(text, "[7,9,30]", "[]")).find("step_ns") != std::string::npos);
}

TEST_CASE("a summary leaves out spans and memory and nothing else") {
  const Timeline written = simulated_on("1f1b", nullptr);
  Timeline read = timeline_from_json(timeline_to_json(written, true), "t.json");
  CHECK(read.spans.empty());
  CHECK(read.memory.empty());
  read.spans = written.spans;
  read.memory = written.memory;
  CHECK(read == written);
}

TEST_CASE("a document is written in pieces of bounded size") {
  Timeline timeline = small_timeline(1);
  timeline.spans.assign(50'000, {.action = {}, .start = 1, .end = 2});
  std::size_t largest = 0;
  std::string text;
  write_timeline_json(timeline, false, [&](std::string_view piece) {
    largest = std::max(largest, piece.size());
    text += piece;
  });
  CHECK(largest < text.size() / 2);
  CHECK(text == timeline_to_json(timeline));
}

TEST_CASE("a broken document is refused with the place and what was expected") {
  const std::string good = timeline_to_json(simulated_on("1f1b", nullptr));
  CHECK(message_of(good) == "accepted");
  const auto refused = [&](const std::string& what, const std::string& with) {
    return message_of(replaced(good, what, with));
  };
  CHECK(refused("\"kind\":\"simulated\"", "\"kind\":\"simulatd\"").find("kind: unknown kind 'simulatd'") !=
        std::string::npos);
  CHECK(refused("\"utilization\"", "\"utilisation\"").find("utilization") != std::string::npos);
  CHECK(refused("\"idle_ns\":", "\"idle_ns\":1").find("expected makespan_ns - busy_ns") != std::string::npos);
  CHECK(refused("{\"warmup\":", "{\"warmup\":1").find("adds up to") != std::string::npos);
  CHECK(refused("\"lane\":\"compute\"", "\"lane\":\"comput\"").find("unknown lane 'comput'") != std::string::npos);
  CHECK(refused("\"action\":\"0F0\"", "\"action\":\"0Q0\"").find("'0Q0' is not an action") != std::string::npos);
  CHECK(refused("\"start_ns\":0", "\"start_ns\":99999").find("end_ns") != std::string::npos);
  CHECK(refused("\"format\":\"plumbline-timeline\"", "\"format\":\"plumbline-schedule\"") != "accepted");
  CHECK(message_of(good.substr(0, good.size() / 2)).find("t.json:") == 0);
}

TEST_SUITE_END();
