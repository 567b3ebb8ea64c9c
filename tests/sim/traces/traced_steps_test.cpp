#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/traces/chunk_placement.hpp"
#include "sim/traces/producers.hpp"
#include "sim/traces/readers/process_ranks.hpp"
#include "sim/traces/readers/rank_trace.hpp"
#include "sim/traces/step_timeline.hpp"
#include "sim/traces/traced_pipeline.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

/// Work "0F1" of a step, from its begin (the call that waits) over its start to its end.
TracedAction traced_work(const std::string& text, std::int64_t begin, std::int64_t start, std::int64_t end,
                         std::int32_t step = 0) {
  return {parse_action(text, "test"), step, begin, start, end};
}

RankRun rank_with(std::int32_t rank, std::int32_t world, std::vector<TracedAction> work) {
  RankRun run;
  run.file = "rank" + std::to_string(rank) + ".json";
  run.rank = rank;
  run.world_size = world;
  run.work = std::move(work);
  for (const TracedAction& one : run.work)
    run.stages = std::max(run.stages, static_cast<std::int32_t>(one.action.stage) + 1);
  return run;
}

Ticks of_cause(const DeviceSummary& device, IdleCause cause) {
  return device.idle_causes[static_cast<std::size_t>(cause)];
}

}  // namespace

TEST_CASE(
    "a rank's stashes are those of the forwards whose backward or weight gradient has not come, merged ones too") {
  const auto peak = [](const std::vector<std::string>& texts) {
    RankRun run = rank_with(0, 1, {});
    std::int64_t at = 0;
    for (const std::string& text : texts) run.work.push_back(traced_work(text, at, at, at + 1)), ++at;
    run.stages = 1;
    const std::vector<RankRun> runs{run};
    return step_timeline(runs, TracedProducers(runs), 0).devices[0].peak_activations;
  };
  CHECK(peak({"0F0", "0F1", "0B0", "0F2", "0B1", "0B2"}) == 2);
  CHECK(peak({"0F0", "0F1", "0F2", "0B0", "0B1", "0B2"}) == 3);
  CHECK(peak({"0F0+1", "0B1", "0F2", "0B0", "0B2"}) == 2);
  CHECK(peak({"0F0+1", "0B0+1", "0F2+3", "0B2+3"}) == 2);
  CHECK(peak({"0F0+1", "0F2+3", "0B0+1", "0B2+3"}) == 4);
  CHECK(peak({"0F0", "0I0", "0F1", "0I1", "0W0", "0W1"}) == 2);  // until the weight gradient
  CHECK(peak({"0F0", "0I0", "0W0", "0F1", "0I1", "0W1"}) == 1);
  CHECK(peak({"0B0", "0F1", "0B1"}) == 1);  // what was kept before the trace began is not known
}

TEST_CASE("the gap before work is the producer's, the sender's, the message's and the host's, each for its part") {
  // Rank 0 computes until 100 and its call sends until 110. Rank 1 turns to the wait at 20 and has the value at 160;
  // the fastest message between the two takes 30, the other 50.
  RankRun first = rank_with(0, 2, {traced_work("0F0", 0, 0, 100), traced_work("0F1", 100, 110, 200)});
  first.messages = {{parse_action("0SEND_F0", "test"), 0, 100, 100, 110},
                    {parse_action("0SEND_F1", "test"), 0, 200, 200, 205}};
  RankRun second = rank_with(1, 2, {traced_work("1F0", 20, 160, 180), traced_work("1F1", 190, 235, 240)});
  const std::vector<RankRun> runs{first, second};
  const Timeline timeline = step_timeline(runs, TracedProducers(runs), 0);
  CHECK(timeline.makespan == 240);
  CHECK(timeline.num_microbatches == 2);
  REQUIRE(timeline.devices.size() == 2);
  CHECK(timeline.devices[0].busy == 100 + 90);
  CHECK(timeline.devices[1].busy == 20 + 5);
  CHECK(of_cause(timeline.devices[1], IdleCause::kWarmup) == 160);
  // From 180: the producer computes until 200 and calls until 205; the message takes 30, all of it at full speed.
  CHECK(of_cause(timeline.devices[1], IdleCause::kCompute) == 20);
  CHECK(of_cause(timeline.devices[1], IdleCause::kOverhead) == 5);
  CHECK(of_cause(timeline.devices[1], IdleCause::kTransferBandwidth) == 30);
  CHECK(of_cause(timeline.devices[1], IdleCause::kTransferQueue) == 0);
  CHECK(of_cause(timeline.devices[1], IdleCause::kDrain) == 0);
  CHECK(of_cause(timeline.devices[0], IdleCause::kDrain) == 40);
  CHECK(of_cause(timeline.devices[0], IdleCause::kOverhead) == 10);
  // Messages: from the end of the call to the moment when the receiver goes on.
  std::vector<std::pair<Ticks, Ticks>> messages;
  for (const Span& span : timeline.spans) {
    if (span.lane == Lane::kTransfer) messages.emplace_back(span.start, span.end);
  }
  CHECK(messages == std::vector<std::pair<Ticks, Ticks>>{{110, 160}, {205, 235}});
}

TEST_CASE(
    "a step begins with the first and ends with the last of all that its ranks did, and other steps are none of it") {
  RankRun one = rank_with(0, 2, {traced_work("0F0", 50, 60, 70), traced_work("0F0", 5, 6, 900, 1)});
  RankRun other = rank_with(1, 2, {traced_work("1F0", 55, 65, 80)});
  std::vector<RankRun> runs{one, other};
  CHECK(step_bounds(runs, 0) == std::pair<std::int64_t, std::int64_t>{50, 80});
  runs[0].messages = {{parse_action("0SEND_F0", "test"), 0, 40, 71, 72},
                      {parse_action("0SEND_F0", "test"), 1, 0, 0, 1000}};
  CHECK(step_bounds(runs, 0) == std::pair<std::int64_t, std::int64_t>{40, 80});
  runs[1].others = {{parse_action("0REDUCE_GRAD", "test"), 0, 81, 82, 99}};
  CHECK(step_bounds(runs, 0) == std::pair<std::int64_t, std::int64_t>{40, 99});
  CHECK(step_bounds(runs, 1) == std::pair<std::int64_t, std::int64_t>{0, 1000});
}

TEST_CASE("ranks without traces are devices where they must hold the missing stages, up to four thousand of them") {
  const auto pipeline = [](std::int32_t world, std::vector<std::int32_t> ranks) {
    std::vector<RankRun> runs;
    for (const std::int32_t rank : ranks) {
      runs.push_back(rank_with(rank, world, {traced_work(std::to_string(rank) + "F0", 0, 0, 1)}));
    }
    return traced_pipeline(runs);
  };
  const TracedPipeline whole = pipeline(2, {0, 1});
  CHECK(whole.ranks == std::vector<std::int32_t>{0, 1});
  CHECK(whole.runs[1] == 1);
  const TracedPipeline holes = pipeline(4, {1, 3});
  CHECK(holes.ranks == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(holes.runs == std::vector<std::optional<std::size_t>>{std::nullopt, 0, std::nullopt, 1});
  CHECK(pipeline(4097, {0}).runs.size() == 4097);
  CHECK(error_message([&] { pipeline(4098, {0}); }) ==
        "rank0.json: is of a pipeline whose stage 1 no given trace holds, and it cannot be told which of the 4097 "
        "missing "
        "ranks does; expected the traces of all ranks of one pipeline");
  CHECK(
      error_message([&] {
        pipeline(2, {0, 0});
      }) ==
      "rank0.json: holds stage 0, as an earlier rank does; expected the traces of one pipeline, without its replicas");
  // Messages tell that there are three stages, of which the two ranks that the job has hold two.
  std::vector<RankRun> runs{rank_with(0, 2, {traced_work("0F0", 0, 0, 1)}),
                            rank_with(1, 2, {traced_work("1F0", 0, 0, 1)})};
  runs[0].stages = 3;
  runs[0].messages = {{parse_action("0SEND_F0", "test"), 0, 1, 1, 2}};
  CHECK(error_message([&] { traced_pipeline(runs); }) ==
        "rank0.json: is of a pipeline whose stage 2 no rank of the job holds; expected the ranks of one run");
}

TEST_CASE("processes without ranks are told by their stages, and how many there are by the stages of all") {
  const auto ranks = [](std::vector<std::vector<std::string>> work, std::int32_t told = 0) {
    std::vector<RankRun> runs;
    for (const std::vector<std::string>& texts : work) {
      RankRun run = rank_with(RankTrace::kUnknown, RankTrace::kUnknown, {});
      run.stages = told;
      for (const std::string& text : texts) run.work.push_back(traced_work(text, 0, 0, 1));
      runs.push_back(run);
    }
    rank_processes(runs);
    std::string all;
    for (const RankRun& run : runs) all += std::to_string(run.rank) + "/" + std::to_string(run.world_size) + " ";
    return all;
  };
  CHECK(ranks({{"0F0"}, {"1F0"}}) == "0/2 1/2 ");
  CHECK(ranks({{"1F0"}, {"0F0"}}) == "1/2 0/2 ");
  CHECK(ranks({{"2F0"}, {"0F0"}}) == "2/3 0/3 ");
  CHECK(ranks({{"0F0"}}, 4) == "0/4 ");
  CHECK(ranks({{"0F0", "2F0"}, {"1F0", "3F0"}}) == "0/2 1/2 ");
  CHECK(ranks({{"0F0", "3F0"}}, 6) == "0/3 ");
  CHECK(ranks({{"2F0", "5F0"}}, 6) == "2/3 ");
}

TEST_CASE(
    "chunks that fold back get the stages of a zigzag, however many there are, and those that go round keep theirs") {
  const std::int32_t chunks = 4;
  const std::int32_t ranks = 3;
  for (const bool folds : {false, true}) {
    std::vector<RankRun> runs;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      RankRun run = rank_with(rank, ranks, {});
      run.numbers_chunks = true;
      run.steps = 1;
      run.stages = chunks * ranks;
      for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
        const bool back = folds && chunk % 2 == 1;
        const std::int64_t begin = 10'000'000 * (chunk * ranks + (back ? ranks - 1 - rank : rank));
        run.work.push_back(traced_work(std::to_string(chunk * ranks + rank) + "F0", begin, begin, begin + 10'000'000));
      }
      runs.push_back(run);
    }
    place_chunks(runs);
    for (const RankRun& run : runs) {
      for (const TracedAction& work : run.work) {
        CHECK(static_cast<std::int64_t>(work.action.stage) * 10'000'000 == work.start_ns);  // in the order of time
      }
    }
  }
}

TEST_CASE("what work needs is made by the neighbour before it, of its own step and microbatch") {
  const std::vector<RankRun> runs{rank_with(0, 2,
                                            {traced_work("0F0", 0, 0, 1), traced_work("0F1", 1, 1, 2),
                                             traced_work("0B0", 8, 8, 9), traced_work("0F0", 10, 10, 11, 1)}),
                                  rank_with(1, 2,
                                            {traced_work("1F0", 2, 2, 3), traced_work("1F1", 3, 3, 4),
                                             traced_work("1I0", 4, 4, 5), traced_work("1W0", 5, 5, 6)})};
  const TracedProducers producers(runs);
  CHECK(producers.stages() == 2);
  const auto place = [&](const std::string& text, std::int32_t step = 0) {
    const auto found = producers.of(traced_work(text, 0, 0, 0, step));
    return found ? std::to_string(found->rank) + ":" + std::to_string(found->at) : "none";
  };
  CHECK(place("1F0") == "0:0");
  CHECK(place("1F1") == "0:1");
  CHECK(place("1F0", 1) == "0:3");
  CHECK(place("0B0") == "1:2");
  CHECK(place("0I0") == "1:2");
  CHECK(place("0F0") == "none");
  CHECK(place("1B0") == "none");
  CHECK(place("1W0") == "none");
  const auto missing = [&](const std::string& text, std::int32_t step = 0) {
    return producers.is_missing(traced_work(text, 0, 0, 0, step));
  };
  CHECK(missing("1F2"));
  CHECK(missing("0B1"));
  CHECK(missing("1F1", 1));
  CHECK_FALSE((missing("1F0") || missing("0F0") || missing("1B0") || missing("0W0")));
}

}  // namespace plumb::testing

TEST_SUITE_END();
