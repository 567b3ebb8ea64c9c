#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "schedules/registry.hpp"
#include "tests/support/replay.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

struct PublishedList {
  std::map<std::string, std::string> header;
  std::vector<std::vector<std::string>> devices;

  std::int64_t number(const std::string& key, std::int64_t otherwise) const {
    const auto found = header.find(key);
    return found == header.end() ? otherwise : std::stoll(found->second);
  }
};

std::vector<PublishedList> published_lists() {
  std::ifstream file(PLUMB_SOURCE_DIR "/tests/schedules/data/published_lists.txt");
  std::vector<PublishedList> lists;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (line.rfind("# id=", 0) == 0) {
      lists.emplace_back();
      while (words >> word) {
        const auto equals = word.find('=');
        if (equals != std::string::npos) lists.back().header[word.substr(0, equals)] = word.substr(equals + 1);
      }
    } else if (!line.empty() && line[0] != '#') {
      words >> word;
      auto& device = lists.back().devices.emplace_back();
      while (words >> word) device.push_back(word);
    }
  }
  return lists;
}

/// The stage that a token of device `d` names.
std::int64_t stage_of(const PublishedList& list, std::int64_t d, std::int64_t microbatch, std::int64_t chunk) {
  const std::int64_t p = list.number("P", 0);
  if (list.header.at("place") != "chimera") return chunk * p + d;
  const std::int64_t f = list.number("f", 1);
  const std::int64_t m = list.number("M", 0);
  const std::int64_t pipe = m >= p ? microbatch % p / (p / (2 * f)) : microbatch * 2 * f / m;
  const std::int64_t shift = pipe % f * (p / f);
  return pipe < f ? ((d - shift) % p + p) % p : ((p - 1 - d - shift) % p + p) % p;
}

Schedule generated(const PublishedList& list) {
  const std::string id = list.header.at("id");
  ScheduleParams params{.num_devices = static_cast<std::int32_t>(list.number("P", 0)),
                        .num_microbatches = list.number("M", 0)};
  if (list.header.contains("V")) params.chunks = static_cast<std::int32_t>(list.number("V", 0));
  if (list.header.contains("f")) params.options["pipelines"] = list.header.at("f");
  if (id == "interleaved-2-2-5-N3") params.options["group"] = "3";
  return generate(id.substr(0, id.find('-')), params);
}

}  // namespace

TEST_CASE("the lists of gpipe, 1f1b, interleaved and chimera are those that were published") {
  const auto lists = published_lists();
  REQUIRE(lists.size() == 12);
  for (const PublishedList& list : lists) {
    CAPTURE(list.header.at("id"));
    const Schedule schedule = generated(list);
    REQUIRE(list.devices.size() == schedule.devices.size());
    for (std::size_t d = 0; d < list.devices.size(); ++d) {
      CAPTURE(d);
      std::vector<std::string> ours;
      for (const Action& action : expand(schedule.devices[d])) {
        if (action.op != Op::kF && action.op != Op::kB) continue;
        const auto stage = static_cast<std::int64_t>(action.stage);
        const auto microbatch = static_cast<std::int32_t>(action.microbatch);
        std::string token = (action.op == Op::kF ? "F" : "B") + std::to_string(microbatch);
        const std::int64_t chunk = list.header.contains("V") ? stage / list.number("P", 1) : 0;
        if (list.header.contains("V")) token += "." + std::to_string(chunk);
        CHECK(stage == stage_of(list, static_cast<std::int64_t>(d), microbatch, chunk));
        ours.push_back(token);
      }
      CHECK(ours == list.devices[d]);
    }
  }
}

TEST_CASE("the published makespans and peaks follow from the lists") {
  for (const PublishedList& list : published_lists()) {
    CAPTURE(list.header.at("id"));
    const Schedule schedule = generated(list);
    const double chunks = static_cast<double>(list.number("V", 1));
    const Replay run = replay(schedule, {.f = 1, .b = 2});
    REQUIRE(run.finished);
    CHECK(static_cast<double>(run.makespan) / chunks == std::stod(list.header.at("T")));
    std::istringstream peaks(list.header.at("peak"));
    for (const std::int64_t peak : peak_stashes(schedule)) {
      std::string published;
      std::getline(peaks, published, ',');
      CHECK(static_cast<double>(peak) / chunks == std::stod(published));
    }
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
