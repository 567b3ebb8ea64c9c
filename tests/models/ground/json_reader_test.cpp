#include "models/ground/json_reader.hpp"

#include <string>

#include <doctest/doctest.h>

#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using plumb::JsonDocument;
using plumb::JsonValue;
using plumb::testing::error_message;

namespace {

std::string message_of_text(const std::string& text) {
  return error_message([&] { JsonDocument(text, "a.json"); });
}

}  // namespace

TEST_CASE("values come out as they were written") {
  const JsonDocument document(R"({"a": [1, -2, 2.5, true, null, "x\ny"], "b": {"c": {}}})", "a.json");
  const JsonValue root = document.root();
  REQUIRE(root.size() == 2);
  const JsonValue a = root.at("a");
  REQUIRE(a.size() == 6);
  std::vector<JsonValue> values;
  for (const JsonValue& value : a.elements()) values.push_back(value);
  REQUIRE(values.size() == 6);
  CHECK(values[0].integer() == 1);
  CHECK(values[1].integer() == -2);
  CHECK(values[2].number() == 2.5);
  CHECK(values[0].number() == 1.0);
  CHECK(values[3].boolean());
  CHECK(values[4].kind() == JsonValue::Kind::kNull);
  CHECK(values[5].text() == "x\ny");
  CHECK(root.at("b").at("c").size() == 0);
  CHECK_FALSE(root.find("d").has_value());
  REQUIRE(root.members().size() == 2);
  CHECK(root.members()[1].key == "b");
  CHECK(root.members()[1].value.path() == "b");
}

TEST_CASE("broken JSON is reported with line and column") {
  CHECK(message_of_text("{\n  \"a\": 1,\n  \"b\": }").rfind("a.json:3:8: broken JSON: ", 0) == 0);
  CHECK(message_of_text("").rfind("a.json:1:1: broken JSON: ", 0) == 0);
  CHECK(message_of_text("[1, 2").rfind("a.json:1:6: broken JSON: ", 0) == 0);
  CHECK(message_of_text("[1] 2").rfind("a.json:1:5: broken JSON: ", 0) == 0);
  CHECK(message_of_text("[1e999]") == "a.json:1:6: broken JSON: number overflow parsing '1e999'");
  CHECK(message_of_text("[1e999]").find("a.json:1:") == 0);
  CHECK(message_of_text("[\"\xff\"]").find("a.json:1:") == 0);
  for (const char* text : {"{\n\"a\": 1,\n}", "nul", "\"a\nb\"", "{\"a\" 1}"}) {
    CAPTURE(text);
    CHECK(message_of_text(text).find('\n') == std::string::npos);
  }
}

TEST_CASE("a repeated key is refused where it stands") {
  CHECK(message_of_text("{\"a\": 1,\n \"b\": [{}],\n \"a\": 2}") == "a.json:3:2: repeated key 'a'");
  CHECK(message_of_text("{\"a\": {\"a\": 1}, \"b\": {\"a\": 1}}").empty());
}

TEST_CASE("two hundred levels may nest, one more may not") {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  CHECK(message_of_text(nested(200)).empty());
  CHECK(message_of_text(nested(201)) == "a.json:1:201: nested too deeply, expected at most 200 levels");
  CHECK_FALSE(message_of_text(std::string(1000000, '[')).empty());
}

TEST_CASE("a wrong value is named by place, path, expectation and what was found") {
  const JsonDocument document("{\"layers\": [{}, {\n  \"width\": \"wide\", \"n\": 12, \"x\": 1.50}]}", "net.json");
  JsonValue layer = document.root();
  for (const JsonValue& value : document.root().at("layers").elements()) layer = value;
  CHECK(error_message([&] { layer.at("width").integer(1, 100); }) ==
        "net.json:2:12: layers[1].width: expected an integer from 1 to 100, found \"wide\"");
  CHECK(error_message([&] { layer.at("n").integer(13); }) ==
        "net.json:2:25: layers[1].n: expected an integer of at least 13, found 12");
  CHECK(error_message([&] { layer.at("x").integer(); }) ==
        "net.json:2:34: layers[1].x: expected an integer, found 1.50");
  CHECK(error_message([&] { layer.at("x").number(2, 3.5); }) ==
        "net.json:2:34: layers[1].x: expected a number from 2 to 3.5, found 1.50");
  CHECK(error_message([&] { layer.text(); }) == "net.json:1:17: layers[1]: expected a string, found an object");
  CHECK(error_message([&] { layer.at("heads"); }) == "net.json:1:17: layers[1]: missing key 'heads'");
  CHECK(error_message([&] {
          layer.allow_only({"widths", "n", "x"});
        }) == "net.json:2:3: layers[1]: unknown key 'width' (did you mean 'widths'?)");
  CHECK(error_message([&] { document.root().elements(); }) == "net.json:1:1: expected an array, found an object");
}

TEST_CASE("an integer beyond 64 bits is a number and no integer") {
  const JsonDocument document("[9223372036854775807, 9223372036854775808, 1e3]", "a.json");
  std::vector<JsonValue> values;
  for (const JsonValue& value : document.root().elements()) values.push_back(value);
  CHECK(values[0].integer() == INT64_MAX);
  CHECK(error_message([&] { values[1].integer(); }) ==
        "a.json:1:23: [1]: expected an integer, found 9223372036854775808");
  CHECK(values[1].number() == 9223372036854775808.0);
  CHECK(error_message([&] { values[2].integer(); }) == "a.json:1:44: [2]: expected an integer, found 1e3");
}

TEST_CASE("a repeated key is found among thousands, and in each object for itself") {
  std::string text = "{";
  for (int k = 0; k < 9000; ++k) text += "\"k" + std::to_string(k) + "\": {\"k7\": 1},\n";
  CHECK(message_of_text(text + "\"last\": 1}").empty());
  CHECK(message_of_text(text + "\"k7\": 1}") == "a.json:9001:1: repeated key 'k7'");
  CHECK(message_of_text(text + "\"k8999\": 1}") == "a.json:9001:1: repeated key 'k8999'");
}

TEST_SUITE_END();
