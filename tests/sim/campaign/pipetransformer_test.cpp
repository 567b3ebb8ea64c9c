#include <doctest/doctest.h>

#include <algorithm>

#include "sim/campaign/campaign.hpp"
#include "sim/campaign/freezing.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

constexpr std::int64_t kFreezeSecond = 1000 * kNsPerMillisecond;

std::vector<std::int32_t> frozen(double alpha, std::int32_t epochs) {
  std::vector<std::int32_t> counts;
  for (std::int32_t epoch = 0; epoch < epochs; ++epoch) {
    counts.push_back(LayerFreezing{.layers = 12, .alpha = alpha}.frozen_after(epoch));
  }
  return counts;
}

}  // namespace

TEST_CASE("layers freeze as in the released recurrence of PipeTransformer") {
  CHECK(frozen(1.0 / 3, 8) == std::vector<std::int32_t>{0, 4, 7, 9, 10, 11, 11, 12});
  CHECK(frozen(0.2, 11) == std::vector<std::int32_t>{0, 3, 5, 6, 8, 9, 9, 10, 10, 11, 11});
}

// The released partition function (pipe/load_balance.py) and its loop over lengths, run on the sizes of ViT-B/16 and of
// BERT-Large's layers.
TEST_CASE("a pipeline gets half as long when the released program makes it so") {
  struct Released {
    std::int32_t length;
    double alpha;
    std::vector<std::int32_t> vit, bert;
  };
  for (const Released& row : {Released{8, 1.0 / 3, {8, 8, 4, 2, 2, 1}, {8, 8, 4, 2, 2, 1}},
                              Released{4, 1.0 / 3, {4, 4, 2, 1, 1, 1}, {4, 4, 2, 2, 1, 1}},
                              Released{8, 0.2, {8, 8, 4, 4, 4, 2, 2, 2, 2}, {8, 8, 4, 4, 4, 2, 2, 2, 2}},
                              Released{6, 0.2, {6, 6, 3, 3, 3, 3, 3, 1, 1}, {6, 6, 6, 3, 3, 3, 3, 3, 1}},
                              Released{8, 0.5, {8, 4, 2, 1, 1, 1}, {8, 4, 2, 1, 1, 1}}}) {
    CAPTURE(row.length);
    CAPTURE(row.alpha);
    const LayerFreezing vit{.layers = 12, .alpha = row.alpha, .embedding_millions = 0.742656, .head_millions = 0.769};
    const LayerFreezing bert{
        .layers = 24, .alpha = row.alpha, .width = 1024, .embedding_millions = 31.8, .head_millions = 0.00205};
    for (std::size_t epoch = 0; epoch < row.vit.size(); ++epoch) {
      CHECK(vit.pipeline_length(row.length, static_cast<std::int32_t>(epoch)) == row.vit[epoch]);
      CHECK(bert.pipeline_length(row.length, static_cast<std::int32_t>(epoch)) == row.bert[epoch]);
    }
  }
}

TEST_CASE("epochs make a job with frozen layers faster, and it packs its layers anew without losing a step") {
  LayoutTable table({{{1, 2}, {{12 * kFreezeSecond, 12}, {}}}, {{2, 1}, {{10 * kFreezeSecond, 12}, {}}}});
  LayoutBook book(table);
  const CampaignProblem problem{.trace = node_trace_from_text("0,add,a\n0,add,b\n", "two.csv"),
                                .until_ns = 96 * kFreezeSecond,
                                .options = {{"restart", "0"},
                                            {"every", "1e6"},
                                            {"layers", "12"},
                                            {"freeze", "0.5"},
                                            {"epoch", "24"},
                                            {"nodes", "2"},
                                            {"cache", "0"}}};
  // The best layout for two nodes is {2, 1}, which cannot get shorter: two steps of 10 s, then of 6 layers only the
  // forward is left: 10 x (1 - 1/2 x 2/3) = 6.667 s, then 9, 11 and 11 layers: 5, 3.889, 3.889 ..
  const CampaignResult result = run_campaign(problem, "pipetransformer", book);
  const double times[] = {10, 10, 20.0 / 3, 20.0 / 3, 5, 5};
  double at = 0;
  for (const double time : times) at += time;
  const double rest = (96 - at) / (10 * (1 - 11.0 / 12 * 2 / 3));
  CHECK(result.samples == doctest::Approx(12 * (6 + rest)).epsilon(1e-6));
  CHECK(result.fatal == 0);
}

TEST_CASE("with half as many stages there are twice as many pipelines on the same nodes") {
  LayoutTable table({{{1, 4}, {{8 * kFreezeSecond, 8}, {}}}, {{2, 2}, {{7 * kFreezeSecond, 8}, {}}}});
  LayoutBook book(table);
  CampaignProblem problem{.trace = node_trace_from_text("0,add,a\n0,add,b\n0,add,c\n0,add,d\n", "four.csv"),
                          .until_ns = 60 * kFreezeSecond,
                          .options = {{"restart", "5"}, {"every", "1e6"}, {"layers", "8"}, {"freeze", "0.5"}}};
  problem.options.insert({{"epoch", "16"}, {"nodes", "4"}});
  // {2, 2} is the faster one, so that it begins with it; all is frozen to one stage on each node in the end.
  const CampaignResult result = run_campaign(problem, "pipetransformer", book);
  std::vector<JobLayout> layouts;
  for (const CampaignPhase& phase : result.phases) {
    if (phase.use != TimeUse::kTraining || (!layouts.empty() && layouts.back() == phase.layout)) continue;
    layouts.push_back(phase.layout);
  }
  CHECK(layouts == std::vector<JobLayout>{{2, 2}, {4, 1}});
  CHECK(result.time_of(TimeUse::kReconfiguring) == 10 * kFreezeSecond);
  CHECK(result.time_of(TimeUse::kLost) == 0);
}

TEST_CASE("layers freeze after the first step that reaches an epoch's samples, and not one sample before") {
  for (const std::int64_t epoch : {5, 6, 7, 11, 12, 13, 17, 18, 19}) {
    CAPTURE(epoch);
    LayoutTable table({{{1, 1}, {{10 * kFreezeSecond, 6}, {}}}});
    LayoutBook book(table);
    CampaignProblem problem{.trace = node_trace_from_text("0,add,a\n", "one.csv"),
                            .until_ns = 40 * kFreezeSecond,
                            .options = {{"restart", "0"}, {"every", "1e6"}, {"layers", "4"}, {"freeze", "0.5"}}};
    problem.options.insert({{"epoch", std::to_string(epoch)}, {"nodes", "1"}, {"cache", "0"}});
    // Steps of 6 samples that take 10 s, and with 2, 3 and 3 of 4 layers frozen less by a third of twice their share.
    double at = 0;
    double samples = 0;
    while (true) {
      const int frozen[] = {0, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
      const double step =
          10 * (1 - frozen[static_cast<std::size_t>(samples / static_cast<double>(epoch))] / 4.0 * 2 / 3);
      const double share = std::min(1.0, (40 - at) / step);
      at += step;
      samples += 6 * share;
      if (share < 1) break;
    }
    CHECK(run_campaign(problem, "pipetransformer", book).samples == doctest::Approx(samples).epsilon(1e-6));
  }
}

}  // namespace plumb

TEST_SUITE_END();
