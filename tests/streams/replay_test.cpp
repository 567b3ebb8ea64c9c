#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/streams/stream_cases.hpp"

TEST_SUITE_BEGIN("streams");

namespace plumb {
namespace {

/// Counts as a GPU's op graphs would: a pass is launched plainly when it is new, captured when it comes for the second
/// time, and replayed from then on. The host does not read the memory of devices, so ids and losses have places there.
class CountedReplays : public ImmediateStreams {
 public:
  CountedReplays() : ImmediateStreams(add_on_cpu) {}

  bool host_reads_devices() const override { return false; }
  void launch(StreamId stream, Work work) override {
    if (!work.replay.empty()) replayed.push_back(++seen_[work.replay] > 2);
    ImmediateStreams::launch(stream, std::move(work));
  }
  std::size_t graphs() const { return seen_.size(); }

  std::vector<bool> replayed;  ///< by pass

 private:
  std::map<std::string, int> seen_;
};

/// Percent of the passes of updates 5 to 11 that are replays.
std::size_t replayed(const std::string& schedule) {
  constexpr std::int32_t kUpdates = 12;
  constexpr std::size_t kFirst = 5;
  constexpr std::int32_t kBlocks = 8;
  CountedReplays machine;
  TrainOptions options = tiny_run(schedule, {.num_devices = 8, .num_microbatches = 16, .updates = kUpdates}, kBlocks);
  const std::uint64_t hash = train(options).weights_hash;
  options.execution.executor = "streams";
  options.hooks.own_streams = &machine;
  CHECK(train(options).weights_hash == hash);
  const std::size_t passes = machine.replayed.size();
  const std::size_t begin = passes * kFirst / kUpdates;
  REQUIRE(passes > begin);
  const auto replays =
      std::count(machine.replayed.begin() + static_cast<std::ptrdiff_t>(begin), machine.replayed.end(), true);
  MESSAGE(schedule << ": " << machine.graphs() << " graphs");
  return 100 * static_cast<std::size_t>(replays) / (passes - begin);
}

}  // namespace

TEST_CASE("from the sixth update on, at least 95 % of the passes are replays") {
  for (const std::string schedule : {"1f1b", "gpipe", "zb-h1", "zb-v", "chimera", "dualpipev", "pipemare"}) {
    CAPTURE(schedule);
    CHECK(replayed(schedule) >= 95);
  }
}

}  // namespace plumb

TEST_SUITE_END();
