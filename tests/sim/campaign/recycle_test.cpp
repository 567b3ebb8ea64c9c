#include <string>

#include <doctest/doctest.h>

#include "sim/campaign/campaign.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

constexpr std::int64_t kLossSecond = 1000 * kNsPerMillisecond;

/// Three pipelines of four stages, with `microbatches` of 3 s each on a node: a step of 1F1B takes 3 (m + 3) s.
class ThreePipelines final : public LayoutSource {
 public:
  explicit ThreePipelines(std::int64_t microbatches) : microbatches_(microbatches) {}

  std::optional<StepOfLayout> step(JobLayout layout) override {
    if (layout != JobLayout{3, 4}) return {};
    return StepOfLayout{(microbatches_ / 3 + 3) * 3 * kLossSecond, static_cast<double>(microbatches_)};
  }
  std::vector<std::int32_t> lengths() const override { return {4}; }
  std::int32_t most_pipelines(std::int32_t) const override { return 3; }
  std::int64_t microbatches() const override { return microbatches_; }

 private:
  std::int64_t microbatches_;
};

/// Twelve nodes, of which some go at 1 ms, and what happens later; no pauses.
CampaignResult played(std::int64_t microbatches, const std::string& gone, const std::string& reshard = "0",
                      const std::string& later = "") {
  std::string trace;
  for (char node = 'a'; node <= 'l'; ++node) trace += std::string("0,add,") + node + "\n";
  for (const char node : gone) trace += std::string("1,remove,") + node + "\n";
  ThreePipelines source(microbatches);
  LayoutBook book(source);
  return run_campaign({.trace = node_trace_from_text(trace + later, "trace.csv"),
                       .until_ns = 3600 * kLossSecond,
                       .options = {{"pause", "0"}, {"stages", "4"}, {"reshard", reshard}}},
                      "recycle", book);
}

double slower(std::int64_t microbatches, const std::string& gone, const std::string& reshard = "0") {
  return played(microbatches, "").samples / played(microbatches, gone, reshard).samples;
}

}  // namespace

TEST_CASE("microbatches of a lost node fit into what the others idle, as far as its bound says") {
  // m of a pipeline, D = 3, f = 1: m / 2 more on each holder that is left, against p - 1 = 3 turns that are idle.
  CHECK(slower(18, "a") == doctest::Approx(1).epsilon(1e-4));           // m = 6: 9 turns of 9
  CHECK(slower(36, "a") == doctest::Approx(18.0 / 15).epsilon(1e-4));   // m = 12: 18 turns of 15
  CHECK(slower(36, "ae") == doctest::Approx(36.0 / 15).epsilon(1e-4));  // two holders of the first stage
}

// The lengths are those of searched orders that are proved to be the shortest (`search dapple -p 11 -m 18 --opt
// replicas=3-2-3-3` and so on, F=I=W=1), over the steps of 1F1B on all twelve nodes: 27, and 45 of 36 microbatches.
TEST_CASE("a step without nodes takes as long as the shortest order that a search finds for it") {
  struct Searched {
    std::int64_t microbatches;
    const char* gone;
    double step;
  };
  for (const Searched& one :
       {Searched{18, "a", 27}, Searched{18, "b", 28}, Searched{18, "c", 29}, Searched{18, "d", 30},
        Searched{18, "ab", 28}, Searched{18, "bc", 29}, Searched{18, "ad", 30}, Searched{18, "abcd", 30},
        Searched{18, "cgd", 56}, Searched{36, "a", 54}, Searched{36, "b", 55}, Searched{36, "c", 56},
        Searched{36, "d", 57}, Searched{36, "ab", 55}, Searched{36, "bc", 56}, Searched{36, "aed", 108}}) {
    CAPTURE(one.microbatches);
    CAPTURE(one.gone);
    const double whole = one.microbatches == 18 ? 27 : 45;
    CHECK(slower(one.microbatches, one.gone) == doctest::Approx(one.step / whole).epsilon(1e-4));
  }
}

TEST_CASE("where layers move, too, the nodes that are left have equal work") {
  CHECK(slower(36, "a", "1") == doctest::Approx(1).epsilon(1e-4));  // 36 x 4 / 11 = 13.1 turns of 15
  CHECK(slower(36, "abcd", "1") == doctest::Approx(18.0 / 15).epsilon(1e-4));
}

TEST_CASE("a slow node makes every step of recycle as much longer as it is slower") {
  std::string trace;
  for (char node = 'a'; node <= 'l'; ++node) trace += std::string("0,add,") + node + "\n";
  ThreePipelines source(18);
  LayoutBook book(source);
  const auto samples = [&](const std::string& slow) {
    return run_campaign({.trace = node_trace_from_text(trace + slow, "trace.csv"),
                         .until_ns = 2700 * kLossSecond,
                         .options = {{"pause", "0"}, {"stages", "4"}}},
                        "recycle", book)
        .samples;
  };
  CHECK(samples("") == doctest::Approx(100 * 18));
  CHECK(samples("0,slow,f,2\n") == doctest::Approx(50 * 18));
  CHECK(samples("0,slow,f,1.25\n") == doctest::Approx(80 * 18));
}

TEST_CASE("only the last holder of a stage throws recycle back to its checkpoint") {
  const CampaignResult two = played(18, "ae");
  CHECK(two.fatal == 0);
  CHECK(two.samples > 0);
  const CampaignResult three = played(18, "aei");
  CHECK(three.fatal == 1);
  CHECK(three.samples == 0);
  CHECK(three.time_of(TimeUse::kWaiting) > 3590 * kLossSecond);
}

TEST_CASE("a node that comes takes an empty seat of recycle after a step, even where no step is shorter with it") {
  // The first stage of three pipelines is on a, e and i; steps of 18 microbatches are as long without a.
  const std::string two_more = "1800000,remove,e\n1800000,remove,i\n";
  const CampaignResult back = played(18, "a", "0", "900000,add,m\n" + two_more);
  CHECK(back.recoveries == 4);
  CHECK(back.fatal == 0);
  CHECK(played(18, "a", "0", two_more).fatal == 1);
  // Those of 36 are not: 54 s, of which m comes in the 17th, and 45 s with it. The first one begins at 1 ms.
  CHECK(played(36, "a", "0", "900000,add,m\n").steps == 17 + (3600 - 17 * 54) / 45);
}

}  // namespace plumb

TEST_SUITE_END();
