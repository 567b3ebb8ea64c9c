#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// The file of the picture of the schedule of the given name.
std::string picture_file(std::string_view name) {
  std::string stem(name);
  std::ranges::replace(stem, '-', '_');
  return "schedules/" + stem + ".txt";
}

}  // namespace

TEST_CASE("the pictures of schedules that share their source with another are those in tests/golden") {
  for (const std::string_view name :
       {"depth-first", "torch-interleaved", "torch-gpipe", "torch-1f1b", "zb-1p", "zb-auto"}) {
    CAPTURE(name);
    const std::string actual = picture(generate(name, {.num_devices = 2, .num_microbatches = 4}), {});
    CHECK(actual == golden(picture_file(name), actual));
  }
}

TEST_CASE("every schedule of the catalogue has a picture in tests/golden") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    INFO("tests/golden/" << picture_file(spec.name)
                         << ": expected; figures_test.cpp or its own test draws it with PLUMB_UPDATE_GOLDEN=1");
    CHECK(std::filesystem::exists(in_source("tests/golden/" + picture_file(spec.name))));
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
