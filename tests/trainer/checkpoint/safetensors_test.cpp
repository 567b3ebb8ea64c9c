#include "trainer/checkpoint/safetensors.hpp"

#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

/// A file with two tensors of `U8`: `a` with 4 bytes, `b` with 3, wherever they are said to begin in `bytes` bytes.
SafetensorsFile file_with(int a, int b, std::size_t bytes) {
  const auto tensor = [](const std::string& name, int begin, int count) {
    return '"' + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(count) + R"(],"data_offsets":[)" +
           std::to_string(begin) + "," + std::to_string(begin + count) + "]}";
  };
  const std::string header = "{" + tensor("a", a, 4) + "," + tensor("b", b, 3) + "}";
  const std::uint64_t length = header.size();
  std::string content(8, '\0');
  std::memcpy(content.data(), &length, 8);
  return SafetensorsFile(content + header + std::string(bytes, 'x'), "two.safetensors");
}

TEST_CASE("every byte of a safetensors file belongs to one tensor") {
  CHECK(file_with(0, 4, 7).at("b").bytes.size() == 3);
  CHECK(file_with(3, 0, 7).at("a").bytes.size() == 4);
  CHECK_THROWS_WITH_AS(file_with(1, 5, 8),
                       "two.safetensors: tensor 'a' begins at byte 1 of the data, expected 0, where the data begins",
                       Error);
  CHECK_THROWS_WITH_AS(file_with(0, 5, 8),
                       "two.safetensors: tensor 'b' begins at byte 5 of the data, expected 4, where 'a' ends", Error);
  CHECK_THROWS_WITH_AS(file_with(0, 2, 7),
                       "two.safetensors: tensor 'b' begins at byte 2 of the data, expected 4, where 'a' ends", Error);
  CHECK_THROWS_WITH_AS(file_with(0, 4, 9), "two.safetensors: 2 bytes behind the last tensor, expected none", Error);
}

}  // namespace
}  // namespace plumb

TEST_SUITE_END();
