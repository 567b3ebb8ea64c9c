#include "schedules/checks/check_order.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "schedules/document/schedule_io.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

std::vector<std::string> wrong(const char* text) {
  std::vector<std::string> lines;
  for (const Violation& one : check_order(schedule_from_text(text, "x.txt"))) lines.push_back(to_string(one));
  return lines;
}

}  // namespace

TEST_CASE("lists from which actions are missing are not blamed for that") {
  CHECK(wrong("d0: 0F0 0F1 0B1\nd1: 1F0 1B0\n").empty());
  CHECK(wrong("d0: 0B0 0F1\nd1: 1F0 1B1\n").empty());  // 0F0 and 1F1 may be what cannot be read
}

TEST_CASE("an action before what it needs on its device, and one that stands twice, are told") {
  CHECK(wrong("d0: 0B0 0F0 0F1\nd1: 1F0 1F0\n") ==
        std::vector<std::string>{"device 0, position 0: 0B0: runs before 0F0",
                                 "device 1, position 1: 1F0: runs a second time; expected once"});
  CHECK(wrong("d0: 0F0 0W0 0I0\n") == std::vector<std::string>{"device 0, position 1: 0W0: runs before 0I0"});
}

TEST_CASE("a cycle of waits among the actions that are there is told with its members") {
  CHECK(
      wrong("d0: 0F0 0B0 0F1\nd1: 1F1 1F0 1B0 1B1\n") ==  // 0B1 is missing
      std::vector<std::string>{"device 0, position 1: 0B0: deadlock: 0B0 on device 0 waits for 1B0 on device 1, which "
                               "comes after 1F1; 1F1 on device 1 waits for 0F1 on device 0, which comes after 0B0"});
}

TEST_CASE("a text with mistakes still has the lists of what can be read, and their lines") {
  try {
    schedule_from_text("# mine\nd0: 0F0 0Q0\n\nd1: 1B0 1F0\n", "x.txt");
    FAIL("expected a mistake");
  } catch (const PartlyRead& partly) {
    CHECK(partly.messages().size() == 1);
    CHECK(lists_to_text(partly.part()) == "d0: 0F0\nd1: 1B0 1F0\n");
    CHECK(partly.line_of(DeviceId{1}) == 4);
    CHECK(check_order(partly.part()).size() == 1);
  }
  try {
    schedule_from_text("d0: 0F0 40000000F1\n", "x.txt");
    FAIL("expected a mistake");
  } catch (const PartlyRead& partly) {
    CHECK(lists_to_text(partly.part()) == "d0: 0F0\n");
    CHECK(partly.part().num_stages == 1);  // a stage that is refused makes no room for 40 million
  }
  CHECK_THROWS_AS(schedule_from_text("stage_edges: [[1, 0]]\nd0: 0Q0\n", "x.txt"), Errors);
}

}  // namespace plumb::testing

TEST_SUITE_END();
