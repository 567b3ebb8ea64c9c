#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "tests/sim/specification/specification_cases.hpp"
#include "tests/support/catalogue_walk.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using namespace plumb::testing;

namespace {

/// What the second simulator says about the cases; empty when it agrees with the program on all of them.
std::string differences(const std::vector<AnsweredCase>& cases) {
  const ScratchDirectory scratch;
  {
    std::ofstream lines(scratch.path() / "cases");
    for (const AnsweredCase& one : cases) lines << one.json << '\n';
  }
  const std::string out = (scratch.path() / "out").string();
  const std::string command = "python3 -B '" + in_source("tests/sim/specification/second_simulator.py") + "' '" +
                              (scratch.path() / "cases").string() + "' > '" + out + "' 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream in(out);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (status == 0) return "";
  if (const char* keep = std::getenv("PLUMB_KEEP_CASES")) {
    std::filesystem::copy_file(scratch.path() / "cases", keep, std::filesystem::copy_options::overwrite_existing);
  }
  return text.empty() ? "exit status " + std::to_string(status) : text;
}

int hanging(const std::vector<AnsweredCase>& cases) {
  return static_cast<int>(std::ranges::count_if(cases, &AnsweredCase::hangs));
}

}  // namespace

TEST_CASE("§3 to §10: a second simulator that follows the page agrees on every schedule of the catalogue") {
  std::mt19937_64 random(1);
  std::vector<AnsweredCase> cases;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int32_t p : {2, 4}) {
      const auto schedule = smallest(spec, {.num_devices = p, .num_microbatches = p + 1});
      if (!schedule || schedule->policy) continue;
      for (int i = 0; i < 2; ++i) {
        if (auto one = answered_case(random_case(*schedule, random))) cases.push_back(*std::move(one));
      }
    }
  }
  CHECK(cases.size() > 200);
  CHECK(differences(cases) == "");
}

TEST_CASE("§3 to §10: a second simulator that follows the page agrees on random documents") {
  std::mt19937_64 random(2);
  std::vector<AnsweredCase> cases;
  for (int tries = 0; cases.size() < 400 && tries < 4000; ++tries) {
    auto schedule = random_document(random);
    if (!schedule) continue;
    if (auto one = answered_case(random_case(*std::move(schedule), random))) cases.push_back(*std::move(one));
  }
  CHECK(cases.size() == 400);
  CHECK(hanging(cases) > 0);
  CHECK(hanging(cases) < 200);
  CHECK(differences(cases) == "");
}

TEST_CASE(
    "§5.7: a second simulator that follows the page agrees on random documents with calls that occupy the lanes") {
  std::mt19937_64 random(3);
  std::vector<AnsweredCase> cases;
  for (int tries = 0; cases.size() < 300 && tries < 20'000; ++tries) {
    auto schedule = random_document(random);
    if (!schedule) continue;
    const SpecificationCase drawn = random_case(*std::move(schedule), random);
    if (!drawn.cluster || drawn.costs.runtime.calls.empty()) continue;
    if (auto one = answered_case(drawn)) cases.push_back(*std::move(one));
  }
  CHECK(cases.size() == 300);
  CHECK(hanging(cases) < 150);
  CHECK(differences(cases) == "");
}

TEST_CASE("§5.8: the second simulator agrees on random documents with stages that start together") {
  std::mt19937_64 random(3);
  std::vector<AnsweredCase> cases;
  for (int tries = 0; cases.size() < 300 && tries < 6000; ++tries) {
    auto schedule = random_document(random, true);
    if (!schedule) continue;
    SpecificationCase drawn = random_case(*std::move(schedule), random);
    // Refused: there a lane waits for something of its own.
    drawn.costs.runtime = {};
    if (drawn.options.transfers == TransferMode::kBlocking) drawn.options.transfers = TransferMode::kBuffered;
    if (auto one = answered_case(drawn)) cases.push_back(*std::move(one));
  }
  CHECK(cases.size() == 300);
  CHECK(hanging(cases) < 100);
  CHECK(differences(cases) == "");
}
