#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/support/catalogue_walk.hpp"
#include "tools/formats/findings.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

/// As `advise` writes it; empty where the format does not have what it does.
std::string saved_text(const ScheduleSpec& spec, const char* format) {
  const auto schedule = smallest(spec, {.num_devices = 4, .num_microbatches = 8});
  if (!schedule) return {};
  try {
    return written_schedule(std::string(spec.name), schedule_format(format, {}), *schedule).value_or("");
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

TEST_CASE(
    "every cell of a schedule that advise saves is an action or a pair, which no spreadsheet takes for a formula") {
  for (const char* format : {"torch-csv", "torch-comms"}) {
    int saved = 0;
    for (const ScheduleSpec& spec : schedule_catalogue()) {
      CAPTURE(spec.name);
      const std::string text = saved_text(spec, format);
      saved += text.empty() ? 0 : 1;
      char before = '\n';
      for (const char letter : text) {
        const bool begins = (before == '\n' || before == ',') && letter != '\r';
        if (begins) CHECK(std::string("0123456789(").find(letter) != std::string::npos);
        before = letter;
      }
    }
    CHECK(saved > 10);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
