#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

using Weights3 = std::array<double, 3>;

/// y = w3 w2 w1 x, loss (y - target)^2 / 2, plain SGD with rate 0.05 on the mean gradient of an update. The schedule
/// says which versions every forward and backward reads. Returns the versions, by number of updates done.
std::vector<Weights3> train_scalars(const Schedule& schedule) {
  const VersionsRead reads = versions_read(schedule);
  const std::int64_t n = schedule.per_update(StageId{0});
  std::vector<Weights3> versions{{0.9, 0.8, 0.7}};
  Weights3 gradient{};
  for (std::int64_t k = 0; k < schedule.num_microbatches; ++k) {
    const double x = 1 + 0.25 * static_cast<double>(k % 4);
    std::array<double, 4> activation{x};
    const auto weight = [&](const auto& read, std::size_t stage) {
      return versions.at(static_cast<std::size_t>(read.at({k, static_cast<std::int64_t>(stage)})))[stage];
    };
    for (std::size_t s = 0; s < 3; ++s) activation[s + 1] = weight(reads.forward, s) * activation[s];
    double g = activation[3] - 1.5 * x;
    for (std::size_t s = 3; s-- > 0;) {
      gradient[s] += g * activation[s];
      g *= weight(reads.backward, s);
    }
    if ((k + 1) % n != 0) continue;
    versions.push_back(versions.back());
    for (std::size_t s = 0; s < 3; ++s) versions.back()[s] -= 0.05 * gradient[s] / static_cast<double>(n);
    gradient = {};
  }
  return versions;
}

struct PublishedRow {
  std::string name;
  std::int64_t n;
  std::map<std::string, std::string> options;
  std::map<std::size_t, Weights3> published;  ///< by updates done
};

}  // namespace

TEST_CASE("three scalar stages trained with each schedule's versions reach the known weights") {
  const Weights3 first{0.92788800, 0.83137400, 0.73585600};
  const std::map<std::string, std::string> slots{{"timing", "slots"}};
  const std::map<std::string, std::string> in_turn{{"timing", "1f1b"}};
  const std::vector<PublishedRow> rows{
      {"1f1b",
       1,
       {},
       {{1, first}, {2, {0.97244908, 0.88110817, 0.79204592}}, {6, {1.16212685, 1.08789464, 1.01852834}}}},
      {"pipedream",
       1,
       {},
       {{1, first}, {2, {0.97250772, 0.88157118, 0.79042883}}, {6, {1.19378763, 1.11340363, 1.02926966}}}},
      {"pipedream-vs",
       1,
       {},
       {{1, first}, {2, {0.97146300, 0.88039588, 0.79188100}}, {6, {1.19183728, 1.12536062, 1.06718802}}}},
      {"pipemare",
       1,
       in_turn,
       {{1, first}, {2, {0.97425759, 0.88157118, 0.79042883}}, {6, {1.21038571, 1.11307367, 1.02892315}}}},
      {"pipemare",
       1,
       slots,
       {{1, first}, {2, {0.97549147, 0.88290692, 0.79188100}}, {6, {1.27843528, 1.16074725, 1.04985485}}}},
      {"gpipe", 4, {}, {{1, {0.95490450, 0.86176756, 0.77059150}}, {6, {1.17905825, 1.10590601, 1.03768931}}}},
      {"pipedream-2bw", 4, {}, {{1, {0.95490450, 0.86176756, 0.77059150}}, {6, {1.20467052, 1.13607557, 1.07396097}}}},
      {"pipemare", 2, slots, {{1, {0.93573150, 0.84019794, 0.74594050}}, {6, {1.25747664, 1.15540061, 1.06703473}}}},
      {"pipedream", 2, slots, {{2, {1.01110034, 0.92498789, 0.83935962}}, {6, {1.22579741, 1.14857842, 1.06853354}}}},
  };
  for (const PublishedRow& row : rows) {
    CAPTURE(row.name);
    CAPTURE(row.n);
    const Schedule schedule =
        generate(row.name, {.num_devices = 3, .num_microbatches = row.n, .updates = 6, .options = row.options});
    const std::vector<Weights3> versions = train_scalars(schedule);
    for (const auto& [updates, weights] : row.published) {
      CAPTURE(updates);
      for (std::size_t s = 0; s < 3; ++s) CHECK(versions[updates][s] == doctest::Approx(weights[s]).epsilon(2e-8));
    }
  }
}

TEST_CASE("schedules that promise the same versions train to the same weights") {
  const auto trained = [](const std::string& name, std::int64_t m, std::map<std::string, std::string> options = {}) {
    return train_scalars(
        generate(name, {.num_devices = 3, .num_microbatches = m, .updates = 8, .options = std::move(options)}));
  };
  CHECK(trained("avgpipe", 4, {{"pipelines", "1"}}) == trained("gpipe", 4));
  CHECK(trained("hetpipe", 2, {{"virtual-workers", "1"}}) == trained("pipedream", 2));
  CHECK(trained("hetpipe", 2, {{"virtual-workers", "1"}, {"concurrent", "1"}}) == trained("1f1b", 2));
  CHECK(trained("paci", 2) == trained("pipemare", 2, {{"timing", "1f1b"}}));
  CHECK(trained("petra", 1) == trained("pipelined-backpropagation", 1));
  CHECK(trained("pipemare", 2, {{"synchronous", "8"}}) == trained("gpipe", 2));
  CHECK(trained("pipemare", 2) != trained("gpipe", 2));
}

}  // namespace plumb::testing

TEST_SUITE_END();
