#include "tools/terminal/text_table.hpp"

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("tools");

TEST_CASE("columns are as wide as their widest cell and lines end without blanks") {
  plumb::TextTable table({{"schedule"}, {"bubble", '>'}, {"note"}});
  table.add_row({"1f1b", "27.3 %"});
  table.add_row({"zb-h1", "9 %", "split"});
  CHECK(table.to_string() ==
        "schedule  bubble  note\n"
        "1f1b      27.3 %\n"
        "zb-h1        9 %  split\n");
}

TEST_CASE("a title of two lines stands above its column, and other titles on the second line") {
  plumb::TextTable table({{"device"}, {"drain", '>', "idle:"}});
  table.add_row({"0", "3 ms"});
  CHECK(table.to_string() ==
        "        idle:\n"
        "device  drain\n"
        "0        3 ms\n");
}

TEST_CASE("columns that say nothing are left out where that is asked for") {
  plumb::TextTable table({{"schedule"}, {"limit", '>'}, {"m", '>'}, {"remark"}});
  table.add_row({"1f1b", "-", "8"});
  table.add_row({"zb-h1", "-", "-", ""});
  table.leave_out_empty_columns();
  CHECK(table.to_string() ==
        "schedule  m\n"
        "1f1b      8\n"
        "zb-h1     -\n");
}

TEST_CASE("a table that is too wide leaves out its spare columns first, and those that say nothing") {
  plumb::TextTable table(
      {{"name"}, {.title = "nothing", .spare = false}, {"step", '>'}, {.title = "source", .spare = true}});
  table.add_row({"1f1b", "-", "33 ms", "a paper"});
  CHECK(table.to_string(40).find("a paper") != std::string::npos);
  CHECK(table.to_string(26) ==
        "name   step  source\n"
        "1f1b  33 ms  a paper\n");
  CHECK(table.to_string(15) ==
        "name   step\n"
        "1f1b  33 ms\n");
}

TEST_CASE("titles and texts are broken where a table is too wide, and numbers never are") {
  plumb::TextTable table({{"plan"}, {"weights and state", '>'}});
  table.add_row({"one of many words that are long", "12.34 GiB"});
  CHECK(table.to_string(30) ==
        "                       weights\n"
        "plan                 and state\n"
        "one of many words    12.34 GiB\n"
        "that are long\n");
}

TEST_CASE("columns that have no room stand below, behind the first column again") {
  plumb::TextTable table({{"device", '>'}, {"busy", '>'}, {"idle", '>'}, {"needs", '>'}});
  table.add_row({"0", "123456", "123457", "12.34 GiB"});
  CHECK(table.to_string(22) ==
        "device    busy    idle\n"
        "     0  123456  123457\n"
        "\n"
        "device      needs\n"
        "     0  12.34 GiB\n");
}

TEST_CASE("rows that are equal but for their number become one") {
  plumb::TextTable table({{"device", '>'}, {"busy", '>'}});
  for (const int device : {0, 1, 2, 5}) table.add_row({std::to_string(device), "24"});
  table.add_row({"3", "12"});
  table.join_equal_rows();
  CHECK(table.to_string() ==
        "device  busy\n"
        "0-2, 5    24\n"
        "     3    12\n");
}

TEST_CASE("letters of several bytes take one column") {
  plumb::TextTable table({{"time", '>'}, {"unit"}});
  table.add_row({"1 µs", "x"});
  table.add_row({"10 ms", "y"});
  CHECK(table.to_string() ==
        " time  unit\n"
        " 1 µs  x\n"
        "10 ms  y\n");
}
