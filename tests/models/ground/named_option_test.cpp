#include <array>
#include <stdexcept>

#include <doctest/doctest.h>

#include "models/ground/named_option.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb::testing {
namespace {

constexpr std::array kSoup{NamedOption{"salt", number_form("G", 0, 1e9), 2.5, "grams of salt", "none is worse"},
                           NamedOption{"plates", {count_form("N", 1, 64), "all"}, {8, "8, or one each"}, "plates"},
                           NamedOption{"hot", switch_form(), 1, "whether it is warmed"},
                           NamedOption{"herbs", list_form("A-B-..."), "none", "what else is in it"},
                           NamedOption{"meal", {"lunch", "dinner"}, "lunch", "when it is eaten"}};

std::string refused(const char* name, const char* value) {
  return error_message([&] { check_options(kSoup, {{name, value}}, "option of soup"); });
}

}  // namespace

TEST_CASE("an option that a table does not have is refused with the nearest name") {
  CHECK(refused("plate", "1") == "unknown option of soup 'plate' (did you mean 'plates'?)");
  CHECK(refused("zebra", "1").starts_with("unknown option of soup 'zebra'"));
}

TEST_CASE("a value is refused unless it has a form of its option, and the message names all of them") {
  for (const char* wrong : {"", "x", "-1", "2e9", "nan", "inf", "1 ", "0x4"}) {
    CHECK(refused("salt", wrong) == "option salt: expected a number from 0 to 1e9, found '" + std::string(wrong) + "'");
  }
  for (const char* wrong : {"0", "65", "2.5", "most"}) {
    CHECK(refused("plates", wrong) ==
          "option plates: expected a whole number from 1 to 64 or all, found '" + std::string(wrong) + "'");
  }
  CHECK(refused("hot", "2") == "option hot: expected 0 or 1, found '2'");
  CHECK(refused("meal", "tea") == "option meal: expected lunch or dinner, found 'tea'");
  check_options(kSoup, {{"salt", "1e2"}, {"plates", "all"}, {"hot", "no"}, {"herbs", "7"}, {"meal", "dinner"}}, "");
  check_options(kSoup, {{"plates", "6.4e1"}}, "");
}

TEST_CASE("what was not given has the value of the table") {
  const OptionTexts nothing;
  const OptionReader usual(kSoup, nothing);
  CHECK(usual.number("salt") == 2.5);
  CHECK(usual.count("plates") == 8);
  CHECK(usual.is_on("hot"));
  CHECK(usual.number("salt", 7) == 7);
  CHECK_FALSE(usual.has("herbs"));
  CHECK(usual.text("herbs") == nullptr);
  CHECK_THROWS_AS(usual.number("pepper"), std::logic_error);
  const OptionTexts given{{"salt", "0.5"}, {"plates", "3"}, {"hot", "false"}, {"herbs", "a-b"}};
  const OptionReader changed(kSoup, given);
  CHECK(changed.number("salt") == 0.5);
  CHECK(changed.number("salt", 7) == 0.5);
  CHECK(changed.count("plates") == 3);
  CHECK_FALSE(changed.is_on("hot"));
  CHECK(*changed.text("herbs") == "a-b");
}

TEST_CASE("a table for readers says values, defaults and meanings of all options") {
  CHECK(options_text(kSoup) ==
        "  salt=G (default: 2.5): grams of salt; none is worse\n"
        "  plates=N|all (default: 8, or one each): plates\n"
        "  hot=0|1 (default: 1): whether it is warmed\n"
        "  herbs=A-B-... (default: none): what else is in it\n"
        "  meal=lunch|dinner (default: lunch): when it is eaten\n");
}

}  // namespace plumb::testing

TEST_SUITE_END();
