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

TEST_CASE("letters of several bytes take one column") {
  plumb::TextTable table({{"time", '>'}, {"unit"}});
  table.add_row({"1 µs", "x"});
  table.add_row({"10 ms", "y"});
  CHECK(table.to_string() ==
        " time  unit\n"
        " 1 µs  x\n"
        "10 ms  y\n");
}
