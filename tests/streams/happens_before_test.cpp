#include "tests/support/happens_before.hpp"

#include <doctest/doctest.h>

#include "schedules/lowering/lower.hpp"
#include "tests/streams/stream_cases.hpp"
#include "tests/support/written_schedule.hpp"
#include "trainer/plan/run_plan.hpp"

TEST_SUITE_BEGIN("streams");

namespace plumb {
namespace {

std::string first_of(const std::vector<std::string>& findings) { return findings.empty() ? "none" : findings.front(); }

/// Two streams, and memory of 64 bytes for each of their devices.
struct TwoStreams {
  RecordedStreams machine{immediate_streams(add_on_cpu)};
  StreamId a = machine.make_stream(DeviceId{0}, StreamKind::kCompute);
  StreamId b = machine.make_stream(DeviceId{1}, StreamKind::kCompute);
  std::byte* of_a = machine.allocate(DeviceId{0}, 64);
  std::byte* of_b = machine.allocate(DeviceId{1}, 64);
  EventId event = machine.make_event(EventUse::kOrder);

  ~TwoStreams() {
    machine.free(DeviceId{0}, of_a);
    machine.free(DeviceId{1}, of_b);
  }
  std::string finding() const { return first_of(find_races(machine.log())); }
};

StreamLog without(const StreamLog& log, std::size_t call) {
  StreamLog shorter(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(call));
  shorter.insert(shorter.end(), log.begin() + static_cast<std::ptrdiff_t>(call) + 1, log.end());
  return shorter;
}

}  // namespace

TEST_CASE("a read on another stream needs an event, recorded before the wait") {
  TwoStreams two;
  two.machine.fill(two.a, {two.of_a, 64}, std::byte{0});
  SUBCASE("without") {
    two.machine.send(two.b, DeviceId{0}, two.of_b, {two.of_a, 32});
    CHECK(two.finding() == "send on stream 1 is not ordered after fill on stream 0");
  }
  SUBCASE("with") {
    two.machine.record(two.event, two.a);
    two.machine.wait(two.b, two.event);
    two.machine.send(two.b, DeviceId{0}, two.of_b, {two.of_a, 32});
    CHECK(two.finding() == "none");
  }
  SUBCASE("too late") {
    two.machine.wait(two.b, two.event);
    two.machine.record(two.event, two.a);
    CHECK(two.finding() == "wait for event 0 on stream 1, which was never recorded");
  }
  SUBCASE("after the host") {
    two.machine.synchronize();
    two.machine.send(two.b, DeviceId{0}, two.of_b, {two.of_a, 32});
    CHECK(two.finding() == "none");
  }
}

TEST_CASE("a write must not overtake a read, and parts of a buffer are told apart") {
  TwoStreams two;
  two.machine.fill(two.a, {two.of_a, 64}, std::byte{0});
  two.machine.record(two.event, two.a);
  two.machine.wait(two.b, two.event);
  two.machine.send(two.b, DeviceId{0}, two.of_b, {two.of_a, 32});
  two.machine.fill(two.a, {two.of_a + 32, 32}, std::byte{1});
  CHECK(two.finding() == "none");
  two.machine.fill(two.a, {two.of_a + 31, 1}, std::byte{1});
  CHECK(two.finding() == "fill on stream 0 is not ordered after send on stream 1");
}

TEST_CASE("blocks are touched between their begin and end, and written before they are read") {
  TwoStreams two;
  two.machine.begin_block(two.a, {two.of_a, 64});
  SUBCASE("begin") {
    two.machine.send(two.b, DeviceId{0}, two.of_a, {two.of_a, 0});
    two.machine.send(two.b, DeviceId{0}, two.of_a, {two.of_b, 64});
    CHECK(first_of(find_races(two.machine.log())) ==
          "send on stream 1 is not ordered after begin of a block on stream 0");
  }
  SUBCASE("end") {
    two.machine.end_block(two.a, {two.of_a, 64});
    two.machine.fill(two.a, {two.of_a, 8}, std::byte{0});
    CHECK(two.finding() == "fill on stream 0 touches a block after its end");
  }
  SUBCASE("unwritten") {
    two.machine.copy(two.a, two.of_a + 32, {two.of_a, 32});
    CHECK(two.finding() == "copy on stream 0 reads what nobody has written");
  }
}

TEST_CASE("only a send touches another device") {
  TwoStreams two;
  two.machine.fill(two.b, {two.of_a, 64}, std::byte{0});
  CHECK(two.finding() == "fill on stream 1 touches memory of device 0");
}

TEST_CASE("only a copy touches the memory of the host") {
  TwoStreams two;
  std::vector<std::byte> host(64);
  two.machine.copy(two.a, two.of_a, host);
  two.machine.launch(two.a, {.name = "kernel", .accesses = {{{two.of_a, 64}, false}}, .run = [] {}});
  CHECK(two.finding() == "none");
  two.machine.launch(two.a, {.name = "kernel", .accesses = {{host, false}}, .run = [] {}});
  CHECK(two.finding() == "kernel on stream 0 touches memory of the host");
}

TEST_CASE("every schedule of the catalogue gives its streams an order without races, and all edges of its program") {
  for (const bool keeps : {true, false}) {  // looking at gradients makes the host wait, which orders everything
    for_each_schedule(3, 4, [&](const std::string& name, TrainOptions options) {
      CAPTURE(name);
      options.observation.keep_parameters = keeps;
      const RecordedRun run = recorded_run(options);
      CHECK(first_of(find_races(run.log)) == "none");
      if (keeps) CHECK(first_of(find_missing_edges(run.log, RunPlan(options).program)) == "none");
    });
  }
}

TEST_CASE("while gradients are reduced nobody touches them: copies of a stage, tied weights, clipped norms") {
  const auto races = [](TrainOptions options, double clip) {
    options.model.numbers = NumberType::kFloat32;
    options.observation.keep_parameters = false;
    options.optimization.clip_norm = clip;
    const bool flush = options.schedule.weights.policy == WeightPolicy::kFlush;
    options.optimization.clip_scope = flush ? ClipScope::kGlobal : ClipScope::kStage;
    return first_of(find_races(recorded_run(std::move(options)).log));
  };
  for (const double clip : {0.0, 0.5}) {
    CAPTURE(clip);
    for (const std::string name : {"chimera", "dualpipe", "cyclic-dp", "pipedream", "acco"}) {
      CAPTURE(name);
      for (const std::int32_t p : {2, 4}) {
        const ScheduleSpec& spec = *std::ranges::find(schedule_catalogue(), name, &ScheduleSpec::name);
        const auto options = tiny_run(spec, {.num_devices = p, .num_microbatches = 4, .updates = 3}, true);
        REQUIRE(options);
        CHECK(races(*options, clip) == "none");
      }
    }
    // Device 0 holds the one, device 1 the other copy of a stage; a forward runs while their gradients are reduced.
    Schedule schedule = testing::written_schedule(
        {"0F0 0B0 0REDUCE_GRAD 0F2 0U0 0B2 0REDUCE_GRAD 0U1", "0F1 0B1 0REDUCE_GRAD 0F3 0U0 0B3 0REDUCE_GRAD 0U1"}, 4);
    schedule.num_stages = 1;
    schedule.placement = {{{DeviceId{0}, DeviceId{1}}}};
    schedule.microbatches_per_update = {2};
    schedule.weights.policy = WeightPolicy::kStash;
    CHECK(races(tiny_run(schedule, 1, false), clip) == "none");
  }
}

TEST_CASE("no wait can be left out: without any single one of them there is a race") {
  for (const std::string name : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "chimera", "dualpipev", "pipedream",
                                 "pipedream-2bw", "pipemare", "hanayo"}) {
    CAPTURE(name);
    const ScheduleSpec& spec = *std::ranges::find(schedule_catalogue(), name, &ScheduleSpec::name);
    auto options = tiny_run(spec, {.num_devices = 2, .num_microbatches = 4, .updates = 2}, false);
    REQUIRE(options);
    options->model.numbers = NumberType::kFloat32;
    options->observation.keep_parameters = false;  // looking at gradients makes the host wait, which orders everything
    const StreamLog log = recorded_run(*options).log;
    std::size_t waits = 0;
    for (std::size_t call = 0; call < log.size(); ++call) {
      if (log[call].kind != StreamCall::Kind::kWait) continue;
      ++waits;
      CAPTURE(text_of(log[call]));
      CHECK_FALSE(find_races(without(log, call)).empty());
    }
    CHECK(waits > 0);
  }
}

}  // namespace plumb

TEST_SUITE_END();
