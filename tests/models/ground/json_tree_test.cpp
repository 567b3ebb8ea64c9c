#include "models/ground/json_tree.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

/// The value as another JSON library holds it.
nlohmann::ordered_json as_nlohmann(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::kNull:
      return nullptr;
    case JsonValue::Kind::kBoolean:
      return value.boolean();
    case JsonValue::Kind::kInteger:
      return value.integer();
    case JsonValue::Kind::kNumber:
      return value.number();
    case JsonValue::Kind::kString:
      return std::string(value.text());
    case JsonValue::Kind::kArray: {
      auto array = nlohmann::ordered_json::array();
      for (const JsonValue& element : value.elements()) array.push_back(as_nlohmann(element));
      return array;
    }
    case JsonValue::Kind::kObject: {
      auto object = nlohmann::ordered_json::object();
      for (const auto& [key, member] : value.members()) object[std::string(key)] = as_nlohmann(member);
      return object;
    }
  }
  return nullptr;
}

/// Ours has no integers beyond 64 bits with a sign: they are numbers.
void take_signed(nlohmann::ordered_json& value) {
  if (value.is_structured()) {
    for (auto& inner : value) take_signed(inner);
  } else if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    value = static_cast<double>(value.get<std::uint64_t>());
  }
}

bool scans(const std::string& text) {
  JsonTree tree;
  tree.text = text;
  return scan_json(tree);
}

/// Texts that are nearly JSON: every choice is one of a few, and some of them are wrong.
class NearJson {
 public:
  explicit NearJson(std::uint32_t seed) : random_(seed) {}

  std::string value(int depth) {
    const auto choice = pick(depth > 4 ? 6 : 9);
    if (choice < 2) return string();
    if (choice < 4)
      return one_of({"0",
                     "-0",
                     "17",
                     "-3.25",
                     "1e3",
                     "1E-2",
                     "0.1",
                     "123456789012345678",
                     "9223372036854775807",
                     "9223372036854775808",
                     "18446744073709551616",
                     "-9223372036854775809",
                     "1e308",
                     "4.9e-324",
                     "01",
                     "-",
                     "1.",
                     ".5",
                     "1e",
                     "+1",
                     "1e999",
                     "0x1"});
    if (choice < 6) return one_of({"true", "false", "null", "true", "null", "nul", "True"});
    std::string text(1, choice == 6 ? '[' : '{');
    const auto count = pick(5);
    for (std::uint32_t k = 0; k < count; ++k) {
      if (k > 0) text += one_of({",", ",", ",", ", ", ",\n", ",,"});
      if (choice > 6) text += "\"k" + std::to_string(k) + one_of({"\":", "\" :", "\": ", "\\n\":", "\""});
      text += value(depth + 1);
    }
    return text + one_of({choice == 6 ? "]" : "}", choice == 6 ? " ]" : "}", choice == 6 ? "]" : "\t}",
                          choice == 6 ? ",]" : "]"});
  }

 private:
  std::uint32_t pick(std::uint32_t count) { return static_cast<std::uint32_t>(random_() % count); }

  std::string one_of(const std::vector<std::string>& texts) {
    // The last choices, which are often wrong, are rare.
    const std::uint32_t most = static_cast<std::uint32_t>(texts.size());
    return texts[pick(8) == 0 ? pick(most) : pick((most + 1) / 2)];
  }

  std::string string() {
    std::string text = "\"";
    const auto count = pick(14);
    for (std::uint32_t k = 0; k < count; ++k) {
      text += one_of(
          {"a",    "bc",      "some plain words", " ",       "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\\n",
           "\\\"", "\\u20ac", "\\ud83d\\ude00",   "\\u0000", "\\/",      "\\x",          "\\ud83d",          "\\u12",
           "\x01", "\xC3",    "\xED\xA0\x80",     "\x7F"});
    }
    return text + one_of({"\"", "\"", "\"", "\"", "\"", "\"", "\"", ""});
  }

  std::mt19937 random_;
};

TEST_CASE("a text is read as another JSON library reads it, and refused where that refuses it") {
  int read = 0;
  int refused = 0;
  for (std::uint32_t seed = 0; seed < 6000; ++seed) {
    const std::string text = NearJson(seed).value(0);
    CAPTURE(text);
    auto expected = nlohmann::ordered_json::parse(text, nullptr, false);
    if (expected.is_discarded()) {
      ++refused;
      CHECK_FALSE(scans(text));
      CHECK_THROWS_AS(JsonDocument(text, "near.json"), Error);
    } else {
      ++read;
      take_signed(expected);
      const JsonDocument document(text, "near.json");
      CHECK(as_nlohmann(document.root()).dump() == expected.dump());
    }
  }
  CHECK(read > 1000);
  CHECK(refused > 500);
}

TEST_CASE("the pass over texts without faults reads all that other writers write") {
  for (const std::string text : {R"({"a": [1, 2.5, -3e-2, true, null], "\u20ac\n": {"x": "y"}})", "[]", "{}", " 17 ",
                                 "\"\"", "[[[]],{\"a\":{}}]", "18446744073709551615"}) {
    CAPTURE(text);
    CHECK(scans(text));
  }
  for (const std::string text : {"", " ", "[1]x", "[1,]", "{\"a\"}", "{\"a\":1,}", "{1:2}", "[1 2]", "\"", "\"a", "[",
                                 "{", "tru", "1e999", "\xEF\xBB\xBF[]"}) {
    CAPTURE(text);
    CHECK_FALSE(scans(text));
  }
  CHECK_FALSE(scans(std::string("[1]\0", 4)));
  CHECK_FALSE(scans(std::string("\"a\0b\"", 5)));
}

}  // namespace
}  // namespace plumb

TEST_SUITE_END();
