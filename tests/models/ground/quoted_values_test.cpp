#include "models/ground/quoted_values.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/ground/reader_limits.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {

TEST_CASE("a value is quoted whole up to the limit, and without a part of a letter beyond it") {
  CHECK(short_value("").empty());
  CHECK(short_value(std::string(kQuotedValue.most, 'x')) == std::string(kQuotedValue.most, 'x'));
  CHECK(short_value(std::string(kQuotedValue.most + 1, 'x')) == std::string(kQuotedValue.most, 'x') + "...");
  std::string euros;
  for (int k = 0; k < 100; ++k) euros += "\xE2\x82\xAC";
  for (const std::string before : {"", "a", "ab"}) {
    CAPTURE(before);
    const std::string value = short_value(before + euros);
    CHECK(printable(value) == value);
    CHECK(value.size() > kQuotedValue.most);
    CHECK(value.size() <= kQuotedValue.most + 3);
  }
}

TEST_CASE("every long value of an error is cut, what is around them is not") {
  const std::string value(50'000, 'x');
  const std::string cut = std::string(kQuotedValue.most, 'x') + "...";
  const std::string rest(100, 'y');
  CHECK(std::string(Error("a.json:1: '" + value + "', '" + value + "': expected " + rest).what()) ==
        "a.json:1: '" + cut + "', '" + cut + "': expected " + rest);
  CHECK(std::string(Error("unknown kind '" + value + "' (did you mean 'f'?)").what()) ==
        "unknown kind '" + cut + "' (did you mean 'f'?)");
  CHECK(Errors({"'" + value + "'", "b"}).messages().front() == "'" + cut + "'");
  CHECK(std::string(Error(Error("'" + value + "'").what()).what()) == "'" + cut + "'");
}

TEST_CASE("an apostrophe of a word neither begins nor ends a quoted value") {
  const std::string words(100, 'w');
  for (const std::string& text : {"a device's " + words + " and the devices' " + words, "the last of all '" + words,
                                  "'it's " + std::string(40, 'w') + "' is short"}) {
    CHECK(with_short_values(text) == text);
  }
  const std::string name = "it's " + words;
  CHECK(with_short_values("layer '" + name + "': no") == "layer '" + name.substr(0, kQuotedValue.most) + "...': no");
}

}  // namespace plumb

TEST_SUITE_END();
