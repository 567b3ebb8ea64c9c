#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "models/ground/text_file.hpp"
#include "schedules/document/first_stages.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "sim/traces/run_samples.hpp"
#include "sim/traces/traced_run.hpp"
#include "tests/support/source_directory.hpp"

// Real runs of PyTorch that were not traced here, predicted from the trace of another run: data/README.md.

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

RunProfile profile_of_zb_h1() {
  std::vector<TraceFile> files;
  for (const char* rank : {"0", "1", "2", "3"}) {
    const std::string name = std::string("tests/sim/traces/data/zb-h1/rank") + rank + ".json.gz";
    files.push_back({name, read_text_file(testing::in_source(name))});
  }
  return read_traced_run(std::move(files)).known_profile();
}

/// How long a step of the order in data/orders takes by the rules of `--runtime pytorch`.
double predicted_ms(const RunProfile& profile, const std::string& order) {
  const std::string name = "tests/sim/traces/data/orders/" + order + ".csv";
  const Schedule schedule = schedule_from_torch_csv(read_text_file(testing::in_source(name)), name);
  StageCosts costs = run_profile_costs(profile, schedule.num_stages).costs;
  skip_input_grads(costs, first_stages(schedule));
  const Cluster cluster = run_profile_cluster(profile, schedule.num_devices);
  const Program program =
      lower(schedule, costs, &cluster,
            {.receives = ReceivePlacement::kOnSend, .send_buffers = std::numeric_limits<std::int32_t>::max()});
  SimOptions options;
  options.transfers = TransferMode::kRendezvous;
  return static_cast<double>(simulate(program, options).makespan) / 1e6;
}

struct MeasuredRun {
  const char* order;
  double median_ms;  ///< of ten steps without the profiler
};

constexpr MeasuredRun kRuns[] = {{"1f1b", 356.742889},          {"Interleaved1F1B", 315.740738},
                                 {"ZBVZeroBubble", 294.158935}, {"breadth-first", 322.342259},
                                 {"hanayo", 348.896970},        {"v-half", 319.530757}};

}  // namespace

TEST_CASE("from the trace of one real run others are predicted, with as many stages or twice as many") {
  const RunProfile profile = profile_of_zb_h1();
  double sum = 0;
  for (const MeasuredRun& run : kRuns) {
    CAPTURE(run.order);
    const double error = predicted_ms(profile, run.order) / run.median_ms - 1;
    CHECK(std::abs(error) < 0.055);
    sum += std::abs(error);
  }
  CHECK(sum / std::size(kRuns) < 0.03);
}

TEST_CASE(
    "real runs with messages of 4 MiB are predicted from messages of 4 KiB and a ping-pong, far better than without") {
  constexpr MeasuredRun kLarge[] = {{"1f1b", 419.397884}, {"Interleaved1F1B", 396.638467}, {"hanayo", 451.413636}};
  RunProfile profile = profile_of_zb_h1();
  REQUIRE(profile.messages.size() == 1);
  profile.messages[0].bytes = profile.message_bytes = 4096;
  const std::string name = "tests/sim/traces/data/pingpong.csv";
  add_message_sizes(profile, with_ping_pong(profile.messages[0],
                                            ping_pong_from_csv(read_text_file(testing::in_source(name)), name), true));
  RunProfile large = profile;
  large.message_bytes = 4 << 20;
  for (const MeasuredRun& run : kLarge) {
    CAPTURE(run.order);
    const double error = predicted_ms(large, run.order) / run.median_ms - 1;
    CHECK(std::abs(error) < 0.15);
    CHECK(std::abs(error) < 0.65 * std::abs(predicted_ms(profile, run.order) / run.median_ms - 1));
  }
}

TEST_CASE("a traced run tells what its actions, its host and its messages take") {
  const RunProfile profile = profile_of_zb_h1();
  REQUIRE(profile.stages.size() == 4);
  // Stages sleep 10 ms in every pass; the rest is autograd and the host.
  for (std::size_t s = 0; s < 4; ++s) CHECK(profile.stages[s].f.expected_ns() == doctest::Approx(10.5e6).epsilon(0.02));
  CHECK(profile.stages[0].i.median_ns < 200'000);
  CHECK(profile.stages[0].w.median_ns == doctest::Approx(20.9e6).epsilon(0.02));
  CHECK(profile.stages[1].f.count == 16);
  CHECK(profile.inside.f.median_ns > 50'000);
  CHECK(profile.inside.f.median_ns < 400'000);
  REQUIRE(profile.messages.size() == 1);
  const Measured& message = profile.messages[0].message;
  CHECK(message.count > 10);
  CHECK(message.p10_ns > 100'000);
  CHECK(message.p90_ns < 2'000'000);
}

TEST_SUITE_END();
