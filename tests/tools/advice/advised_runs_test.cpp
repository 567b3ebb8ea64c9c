#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sim/timeline/timeline_io.hpp"
#include "sim/traces/readers/gzip.hpp"
#include "tests/sim/traces/measured_groups.hpp"
#include "tools/advice/advice.hpp"

// What the adviser says from one real run of 1F1B alone, beside what the other runs of its group took
// (tests/sim/traces/data/groups).

TEST_SUITE_BEGIN("tools");

using namespace plumb;
using testing::GroupRun;

namespace {

/// The run that was traced, from its committed timeline and profile.
TracedRun traced_group(const std::string& group) {
  const std::string name = group + "-run.timeline.json.gz";
  TracedRun run;
  run.steps.push_back(timeline_from_json(gunzip(read_text_file(testing::group_file(name)), name, 1U << 28U), name));
  run.step_ns = run.timeline().traced.value().step_ns;
  const std::string profile = group + "-run.profile.json";
  run.profile = run_profile_from_json(read_text_file(testing::group_file(profile)), profile);
  return run;
}

/// Plumbline's names for what was run.
std::vector<std::string> names_of(const std::string& schedule) {
  static const std::map<std::string, std::vector<std::string>> classes{
      {"1F1B", {"1f1b"}},
      {"GPipe", {"gpipe"}},
      {"Interleaved1F1B", {"interleaved", "torch-interleaved"}},
      {"ZBVZeroBubble", {"torch-zbv", "zb-v"}},
      {"DualPipeV", {"torch-dualpipev", "dualpipev"}}};
  const auto found = classes.find(schedule);
  return found == classes.end() ? std::vector<std::string>{schedule} : found->second;
}

/// The advised step of a run's schedule with as many stages; null where it is not advised.
const AdvisedSchedule* advised_as(const Advice& advice, const GroupRun& run) {
  for (const std::string& name : names_of(run.schedule)) {
    for (const AdvisedSchedule& each : advice.schedules) {
      const Candidate& candidate = each.candidate;
      const bool named = candidate.name == name || std::ranges::count(candidate.also_called, name) > 0;
      if (named && each.stages_per_device * run.ranks == run.stages) return &each;
    }
  }
  return nullptr;
}

struct NamedRun {
  GroupRun named;    ///< of the measured schedules the one that is advised as the fastest
  GroupRun fastest;  ///< the one that was
};

NamedRun named_from_1f1b(const std::string& group) {
  const Advice advice = advise(traced_group(group), {});
  NamedRun result;
  double least_ns = 0;
  for (const GroupRun& run : testing::measured_runs()) {
    if (run.group != group) continue;
    const AdvisedSchedule* advised = advised_as(advice, run);
    if (advised == nullptr) continue;
    if (least_ns == 0 || advised->step_ns < least_ns) {
      least_ns = advised->step_ns;
      result.named = run;
    }
    if (result.fastest.median_ns == 0 || run.median_ns < result.fastest.median_ns) result.fastest = run;
  }
  return result;
}

}  // namespace

TEST_CASE("from one real run of 1F1B alone the adviser names the fastest measured schedule, or one within its noise") {
  for (const std::string group : {"p4-4k", "p4-4m", "p4-uneq", "p2-32m", "p4-32m", "p2-matmul", "p8-4k"}) {
    CAPTURE(group);
    const NamedRun result = named_from_1f1b(group);
    CAPTURE(result.named.schedule);
    CAPTURE(result.fastest.schedule);
    CHECK(result.named.low_ns <= result.fastest.high_ns);
    CHECK(result.fastest.schedule != "1f1b");
    CHECK(result.fastest.schedule != "1F1B");
  }
}

TEST_SUITE_END();
