#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/streams/stream_cases.hpp"
#include "tests/support/fake_nccl.hpp"
#include "tests/trainer/thread_processes.hpp"
#include "trainer/links/link_messages.hpp"

TEST_SUITE_BEGIN("streams");

namespace plumb {
namespace {

/// What every process has asked its machine for, in a run with messages by links.
std::vector<StreamLog> logs_of_links(const TrainOptions& options) {
  const FakeNccl fake;
  const auto count = static_cast<std::size_t>(options.schedule.num_devices);
  std::vector<std::unique_ptr<RecordedStreams>> machines;
  for (std::size_t rank = 0; rank < count; ++rank) {
    machines.push_back(std::make_unique<RecordedStreams>(thread_streams(add_on_cpu)));
  }
  const auto outcomes = train_in_processes(options, count, [&](std::size_t rank, TrainOptions& own) {
    own.execution.executor = "streams";
    own.execution.links = &fake.library();
    own.hooks.own_streams = machines[rank].get();
  });
  for (const ProcessOutcome& outcome : outcomes) REQUIRE(!outcome.failure);
  std::vector<StreamLog> logs;
  for (const auto& machine : machines) logs.push_back(machine->log());
  return logs;
}

std::string first_race(const StreamLog& log) {
  const std::vector<std::string> races = find_races(log);
  return races.empty() ? "none" : races.front();
}

std::size_t count_of(const StreamLog& log, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::count(log, name, &StreamCall::name));
}

}  // namespace

TEST_CASE("messages by links give the streams of every process an order without races, for every schedule") {
  for_each_schedule(3, 4, [](const std::string& name, const TrainOptions& options) {
    CAPTURE(name);
    std::size_t messages = 0;
    for (const StreamLog& log : logs_of_links(options)) {
      CHECK(first_race(log) == "none");
      messages += count_of(log, "send");
    }
    CHECK(messages > 0);
  });
}

TEST_CASE("no wait around a link can be left out: without any single one of them there is a race") {
  for (const std::string name :
       {"gpipe", "1f1b", "interleaved", "zb-v", "dualpipev", "pipedream", "chimera", "cyclic-dp"}) {
    CAPTURE(name);
    const ScheduleSpec& spec = *std::ranges::find(schedule_catalogue(), name, &ScheduleSpec::name);
    auto options = tiny_run(spec, {.num_devices = 2, .num_microbatches = 4, .updates = 2}, false);
    REQUIRE(options);
    options->model.numbers = NumberType::kFloat32;
    options->observation.keep_parameters = false;
    for (const StreamLog& log : logs_of_links(*options)) {
      std::size_t waits = 0;
      for (std::size_t call = 0; call < log.size(); ++call) {
        if (log[call].kind != StreamCall::Kind::kWait) continue;
        ++waits;
        CAPTURE(text_of(log[call]));
        StreamLog shorter = log;
        shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(call));
        CHECK(first_race(shorter) != "none");
      }
      CHECK(waits > 0);
    }
  }
}

}  // namespace plumb

TEST_SUITE_END();
