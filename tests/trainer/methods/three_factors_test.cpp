#include <algorithm>
#include <cmath>
#include <functional>

#include <doctest/doctest.h>

#include "tests/trainer/methods/scalar_pipeline.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb::scalar {
namespace {

using Triple = std::array<double, 3>;
using Options = std::map<std::string, std::string>;

/// A row of the table of reference 11.6: the versions v1, v2, v4 and v6.
struct VersionRow {
  std::string variant;
  std::string schedule;
  std::int64_t n = 1;
  Options options;
  std::string methods;
  std::array<Triple, 4> published;
};

constexpr Triple kV1{0.92788800, 0.83137400, 0.73585600};
constexpr Triple kV1Slots2{0.93573150, 0.84019794, 0.74594050};

std::vector<VersionRow> rows() {
  const Options slots{{"timing", "slots"}};
  const Options in_turn{{"timing", "1f1b"}};
  const std::array<Triple, 4> stash{kV1,
                                    {0.97250772, 0.88157118, 0.79042883},
                                    {1.13222817, 1.05169869, 0.96597054},
                                    {1.19378763, 1.11340363, 1.02926966}};
  return {
      {"sync, N=1",
       "1f1b",
       1,
       {},
       "",
       {{kV1,
         {0.97244908, 0.88110817, 0.79204592},
         {1.11820304, 1.04077171, 0.96794580},
         {1.16212685, 1.08789464, 1.01852834}}}},
      {"1F1B stash, N=1", "pipedream", 1, {}, "", stash},
      {"1F1B vertical sync, N=1",
       "pipedream-vs",
       1,
       {},
       "",
       {{kV1,
         {0.97146300, 0.88039588, 0.79188100},
         {1.12155072, 1.04846634, 0.98268925},
         {1.19183728, 1.12536062, 1.06718802}}}},
      {"1F1B naive, N=1",
       "pipemare",
       1,
       in_turn,
       "",
       {{kV1,
         {0.97425759, 0.88157118, 0.79042883},
         {1.14566745, 1.05169869, 0.96597054},
         {1.21038571, 1.11307367, 1.02892315}}}},
      {"1F1B naive + T2, N=1", "pipemare", 1, in_turn, "t2", stash},
      {"slots PipeMare, N=1",
       "pipemare",
       1,
       slots,
       "",
       {{kV1,
         {0.97549147, 0.88290692, 0.79188100},
         {1.17086914, 1.07223955, 0.97298136},
         {1.27843528, 1.16074725, 1.04985485}}}},
      {"slots, N=1, T1 + T2 (D)",
       "pipemare",
       1,
       slots,
       "t1:K=8,t2:D=0.1353352832366127",
       {{{0.90557760, 0.81045800, 0.73585600},
         {0.91624407, 0.82933396, 0.79188100},
         {0.96839189, 0.91248583, 0.97298136},
         {1.00901414, 0.96686640, 1.04965133}}}},
      {"GPipe, N=4",
       "gpipe",
       4,
       {},
       "",
       {{{0.95490450, 0.86176756, 0.77059150},
         {1.01150634, 0.92448674, 0.84073158},
         {1.11432147, 1.03645239, 0.96313151},
         {1.17905825, 1.10590601, 1.03768931}}}},
      {"2BW, N=4",
       "pipedream-2bw",
       4,
       {},
       "",
       {{{0.95490450, 0.86176756, 0.77059150},
         {1.00980900, 0.92353513, 0.84118300},
         {1.12112817, 1.04608316, 0.97700921},
         {1.20467052, 1.13607557, 1.07396097}}}},
      {"slots PipeMare, N=2",
       "pipemare",
       2,
       slots,
       "",
       {{kV1Slots2,
         {1.01704995, 0.92730432, 0.83935962},
         {1.15196631, 1.05609359, 0.96785007},
         {1.25747664, 1.15540061, 1.06703473}}}},
      {"slots PipeDream stash, N=2",
       "pipedream",
       2,
       slots,
       "",
       {{kV1Slots2,
         {1.01110034, 0.92498789, 0.83935962},
         {1.12963770, 1.04999513, 0.96785491},
         {1.22579741, 1.14857842, 1.06853354}}}},
      {"slots, N=2, T2 Taylor",
       "pipemare",
       2,
       slots,
       "t2",
       {{kV1Slots2,
         {1.01002096, 0.92462199, 0.83935962},
         {1.12822369, 1.04904700, 0.96785561},
         {1.22481142, 1.14772804, 1.06876564}}}},
      {"slots, N=2, T2 D",
       "pipemare",
       2,
       slots,
       "t2:D=0.1353352832366127",
       {{kV1Slots2,
         {1.01042411, 0.92467112, 0.83935962},
         {1.12874156, 1.04907277, 0.96785552},
         {1.22514810, 1.14768019, 1.06870777}}}},
      {"slots, N=2, T1",
       "pipemare",
       2,
       slots,
       "t1:K=8",
       {{{0.91429260, 0.82679863, 0.74594050},
         {0.95018560, 0.88788863, 0.83935962},
         {1.02205853, 0.98827700, 0.96750094},
         {1.10594255, 1.08611813, 1.07717778}}}},
      {"slots, N=2, momentum",
       "pipemare",
       2,
       slots,
       "",
       {{{0.90714630, 0.80803959, 0.70918810},
         {0.92868073, 0.83209677, 0.73643295},
         {0.99657669, 0.90629867, 0.81871019},
         {1.09963198, 1.01521997, 0.93613021}}}},
  };
}

TrainOptions options_of(const VersionRow& row) {
  TrainOptions options = three_factors(with_methods(
      generate(row.schedule, {.num_devices = 3, .num_microbatches = row.n, .updates = 12, .options = row.options}),
      row.methods));
  if (row.variant.ends_with("momentum")) {
    options.optimization.optimizer.momentum = 0.9;
    options.optimization.learning_rate.base = 0.01;
  }
  return options;
}

}  // namespace

TEST_CASE("the 15 variants of the three-stage scalar trainer have the published versions on the real executor") {
  for (const VersionRow& row : rows()) {
    CAPTURE(row.variant);
    const auto versions = versions_of(options_of(row));
    const std::array<std::size_t, 4> which{1, 2, 4, 6};
    for (std::size_t i = 0; i < which.size(); ++i) {
      for (std::size_t w = 0; w < 3; ++w) {
        CAPTURE(which[i]);
        CAPTURE(w);
        CHECK(std::abs(versions.at(which[i])[w] - row.published[i][w]) < 5.1e-9);
      }
    }
  }
}

TEST_CASE("t2 with a delay of one update is weight stashing, bit for bit") {
  const ScheduleParams params{.num_devices = 3, .num_microbatches = 1, .updates = 12};
  ScheduleParams in_turn = params;
  in_turn.options = {{"timing", "1f1b"}};
  CHECK(versions_of(three_factors(with_methods(generate("pipemare", in_turn), "t2"))) ==
        versions_of(three_factors(generate("pipedream", params))));
}

}  // namespace plumb::scalar

TEST_SUITE_END();
