#include "models/ground/error.hpp"

#include <string>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("models");

namespace plumb {

TEST_CASE("text is printed as it is where a terminal shows it, and byte by byte where it is no UTF-8") {
  CHECK(printable("plain, \xC3\xA9, \xE2\x82\xAC and \xF0\x9F\x98\x80") ==
        "plain, \xC3\xA9, \xE2\x82\xAC and \xF0\x9F\x98\x80");
  CHECK(printable("a\nb\tc\x1b[2J\x7f") == "a\\nb\\x09c\\x1b[2J\\x7f");
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("cut \xE2\x82") == "cut \\xe2\\x82");
  CHECK(printable("\xC0\x80 \xE0\x80\x80 \xF0\x80\x80\x80") ==
        "\\xc0\\x80 \\xe0\\x80\\x80 \\xf0\\x80\\x80\\x80");                                     // longer than need be
  CHECK(printable("\xED\xA0\x80 \xF4\x90\x80\x80") == "\\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80");  // no characters
  CHECK(printable("\xC2\x9B") == "\\xc2\\x9b");  // a control character of a terminal
  CHECK(std::string(Error("\xff").what()) == "\\xff");
}

TEST_CASE("a message that holds a long input keeps its beginning and its end") {
  const std::string input(200'000, '(');
  const std::string message = Error("x.rules:3: " + input + ", expected a pass").what();
  CHECK(message.size() < 2200);
  CHECK(message.starts_with("x.rules:3: (((("));
  CHECK(message.ends_with("((((, expected a pass"));
  CHECK(message.find(" more bytes ...] ") != std::string::npos);
  std::string euros;
  for (int k = 0; k < 1000; ++k) euros += "\xE2\x82\xAC";
  for (const std::string& before : {std::string(), std::string("a"), std::string("ab")}) {
    CHECK(std::string(Error(before + euros).what()).find("\\x") == std::string::npos);  // no character is cut
  }
  CHECK(std::string(Error(std::string(2048, 'a')).what()) == std::string(2048, 'a'));
}

}  // namespace plumb

TEST_SUITE_END();
