#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/option_table.hpp"

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tools/terminal/words.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb;

struct Fixture {
  OptionTable parser{"cook DISH [options]", "Cooks."};
  std::string dish;
  std::string sauce;
  std::optional<std::int64_t> spoons;
  std::vector<std::string> spices;
  bool hot = false;

  Fixture() {
    parser.positional(dish, "DISH")
        .text("sauce", sauce, "NAME", "which sauce")
        .whole("spoons,s", spoons, {1, 10}, "how much")
        .texts("spice", spices, "NAME", "which spices")
        .flag("hot", hot, "hot");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "options fill their variables in every way of writing them") {
  REQUIRE(parse_command_line(parser, {"--sauce", "-", "soup", "-s3", "--spice=salt", "--hot", "--spice", "a=b"}));
  CHECK(dish == "soup");
  CHECK(sauce == "-");
  CHECK(spoons == 3);
  CHECK(spices == std::vector<std::string>{"salt", "a=b"});
  CHECK(hot);
}

TEST_CASE_FIXTURE(Fixture, "every mistake is one line that names command, option and what was expected") {
  const auto check = [&](const CommandLine& line, const char* message) {
    CHECK_THROWS_WITH_AS(parse_command_line(parser, line), message, Error);
  };
  SUBCASE("unknown") { check({"soup", "--suace", "x"}, "unknown cook option '--suace' (did you mean '--sauce'?)"); }
  SUBCASE("not a number") {
    check({"soup", "-s", "many"}, "cook: --spoons: 'many' is not a whole number, expected 1 to 10");
  }
  SUBCASE("negative") { check({"soup", "-s", "-3"}, "cook: --spoons: '-3' is out of range, expected 1 to 10"); }
  SUBCASE("too large") {
    check({"soup", "-s", "99999999999999999999"},
          "cook: --spoons: '99999999999999999999' is out of range, expected 1 to 10");
  }
  SUBCASE("twice") { check({"soup", "-s", "1", "-s", "2"}, "cook: --spoons: given 2 times, expected once"); }
  SUBCASE("twice, spelled in two ways") {
    check({"soup", "-s", "1", "--spoons", "2"},
          "cook: -s and --spoons are one option (how much), expected one of them");
  }
  SUBCASE("far from all") {
    check({"soup", "--zebra"}, "unknown cook option '--zebra'; `plumbline cook --help` lists its options");
  }
  SUBCASE("missing") { check({}, "cook: DISH is missing, expected: cook DISH [options]"); }
  SUBCASE("too many") { check({"soup", "pie"}, "cook: 'pie' is one argument too many, expected: cook DISH [options]"); }
  SUBCASE("abbreviated") { check({"soup", "--sau", "x"}, "unknown cook option '--sau' (did you mean '--sauce'?)"); }
}

TEST_CASE("numbers fill their whole text") {
  CHECK(parse_whole("12", {}, "x") == 12);
  CHECK_THROWS_AS(parse_whole("12a", {}, "x"), Error);
  CHECK_THROWS_AS(parse_whole("", {}, "x"), Error);
  CHECK(parse_real("0.25", "x") == 0.25);
  CHECK_THROWS_AS(parse_real("inf", "x"), Error);
  CHECK_THROWS_AS(parse_real("1e", "x"), Error);
}
