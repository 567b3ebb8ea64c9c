#include "models/ground/text_pieces.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

std::string json_of(std::string_view text) {
  return in_one_piece([&](const TextSink& sink) {
    JsonPieces pieces(sink);
    pieces.text(text);
    pieces.hand_on();
  });
}

TEST_CASE("a string is written as another JSON library reads it, whatever its bytes are") {
  std::string all;
  for (int byte = 0; byte < 128; ++byte) all += static_cast<char>(byte);
  for (const std::string& text : {all, std::string("\u00e4 \u20ac \U0001F600 \u0000x", 14), std::string()}) {
    CHECK(nlohmann::json::parse(json_of(text)).get<std::string>() == text);
  }
}

TEST_CASE("every sequence of four bytes is a character, or becomes one, as another JSON library replaces it") {
  std::uint32_t state = 12345;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string text;
    for (int k = 0; k < 4; ++k) {
      state = state * 1664525U + 1013904223U;
      text += static_cast<char>(0x80U | (state >> 24U));
    }
    CAPTURE(trial);
    const auto read = nlohmann::json::parse(json_of(text)).get<std::string>();  // throws where it is no UTF-8
    try {
      const std::string strict = nlohmann::json(text).dump();  // throws where `text` is no UTF-8
      CHECK(read == nlohmann::json::parse(strict).get<std::string>());
    } catch (const nlohmann::json::type_error&) {
      CHECK(read.find("\xEF\xBF\xBD") != std::string::npos);
    }
  }
}

TEST_CASE("pieces of a long text put together are the text") {
  std::vector<std::size_t> sizes;
  std::string together;
  const TextSink sink = [&](std::string_view piece) {
    sizes.push_back(piece.size());
    together += piece;
  };
  TextPieces pieces(sink);
  std::string expected;
  for (int row = 0; row < 300'000; ++row) {
    pieces.number(row);
    pieces.raw("\n");
    pieces.hand_on_full();
    expected += std::to_string(row) + "\n";
  }
  pieces.hand_on();
  CHECK(together == expected);
  CHECK(sizes.size() == 2);
  CHECK(sizes.front() < (std::size_t{1} << 20U) + 100);
}

}  // namespace
}  // namespace plumb

TEST_SUITE_END();
