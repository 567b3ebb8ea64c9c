#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/source_directory.hpp"

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
  std::ifstream file(plumb::testing::in_source("tests/schedules/data/published_lists.txt"));
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

/// The token that says `action` in the block's language.
std::string token_of(const PublishedList& list, const Action& action) {
  const std::string place = list.header.at("place");
  const std::int64_t p = list.number("P", 0);
  const auto microbatch = static_cast<std::int64_t>(action.microbatch);
  const bool split = std::any_of(list.devices[0].begin(), list.devices[0].end(),
                                 [](const std::string& token) { return token[0] == 'W'; });
  const Op op = action.op == Op::kI && split ? Op::kB : action.op;
  std::string token(kOpNames[static_cast<std::size_t>(op)]);
  if (place == "bitpipe") {
    const bool up = static_cast<std::int16_t>(action.replica) == 1;
    token += (up ? "u" : "d") + std::to_string(microbatch / p * (p / 2) + microbatch % p % (p / 2));
  } else {
    token += std::to_string(microbatch);
  }
  if (place == "looped" || place == "zigzag" || place == "bitpipe") {
    token += "." + std::to_string(static_cast<std::int64_t>(action.stage) / p);
  }
  return token;
}

/// The device that holds `stage` for the microbatch.
std::int64_t device_of(const PublishedList& list, std::int64_t stage, std::int64_t microbatch) {
  const std::string place = list.header.at("place");
  const std::int64_t p = list.number("P", 0);
  const std::int64_t mirrored = p - 1 - stage % p;
  if (place == "zigzag") return stage / p % 2 == 0 ? stage % p : mirrored;
  if (place == "gems") return microbatch % 2 == 0 ? stage : mirrored;
  if (place == "bitpipe") return (stage / p % 2 == 0) == (microbatch % p < p / 2) ? stage % p : mirrored;
  if (place != "chimera") return stage % p;
  const std::int64_t f = list.number("f", 1);
  const std::int64_t m = list.number("M", 0);
  const std::int64_t pipe = m >= p ? microbatch % p / (p / (2 * f)) : microbatch * 2 * f / m;
  const std::int64_t shift = pipe % f * (p / f);
  return pipe < f ? (stage + shift) % p : (2 * p - 1 - stage - shift) % p;
}

Schedule generated(const PublishedList& list) {
  const std::string id = list.header.at("id");
  ScheduleParams params{.num_devices = static_cast<std::int32_t>(list.number("P", 0)),
                        .num_microbatches = list.number("M", 0)};
  if (list.header.contains("V")) params.chunks = static_cast<std::int32_t>(list.number("V", 0));
  if (list.header.contains("f")) params.options["pipelines"] = list.header.at("f");
  if (id == "interleaved-2-2-5-N3") params.options["group"] = "3";
  if (list.header.contains("options")) {
    const std::string& option = list.header.at("options");
    params.options[option.substr(0, option.find(':'))] = option.substr(option.find(':') + 1);
  }
  return generate(list.header.contains("name") ? list.header.at("name") : id.substr(0, id.find('-')), params);
}

bool is_work(Op op) { return op == Op::kF || is_backward(op) || op == Op::kW || op == Op::kR; }

}  // namespace

TEST_CASE("the lists of our schedules are those that were published") {
  const auto lists = published_lists();
  REQUIRE(lists.size() == 28);
  for (const PublishedList& list : lists) {
    CAPTURE(list.header.at("id"));
    const Schedule schedule = generated(list);
    REQUIRE(list.devices.size() == schedule.devices.size());
    for (std::size_t d = 0; d < list.devices.size(); ++d) {
      CAPTURE(d);
      std::vector<std::string> ours;
      for (const Action& action : expand(schedule.devices[d])) {
        if (!is_work(action.op)) continue;
        const auto stage = static_cast<std::int64_t>(action.stage);
        CHECK(device_of(list, stage, static_cast<std::int64_t>(action.microbatch)) == static_cast<std::int64_t>(d));
        ours.push_back(token_of(list, action));
      }
      CHECK(ours == list.devices[d]);
    }
  }
}

TEST_CASE("the published makespans and peaks follow from the lists") {
  for (const PublishedList& list : published_lists()) {
    CAPTURE(list.header.at("id"));
    const Schedule schedule = generated(list);
    const double chunks = static_cast<double>(list.number("V", list.header.at("place") == "bitpipe" ? 2 : 1));
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
