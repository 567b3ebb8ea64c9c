#include "trainer/cuda/product_plan.hpp"

#include <optional>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("cuda");

namespace plumb::cuda {
namespace {

const ProductKey kKey{64, 32, 16, true, false, "bf16,bf16,f32", "bias", true, 16, 8};

AlgorithmBytes bytes_from(std::uint8_t first) {
  AlgorithmBytes bytes{};
  for (std::uint8_t& byte : bytes) byte = first++;
  return bytes;
}

}  // namespace

TEST_CASE("a product's key is one line, and every part of it tells products apart") {
  CHECK(text_of(kKey) == "m64 n32 k16 TN bf16,bf16,f32 bias + align16 sms8");
  ProductKey other = kKey;
  other.sms = 16;
  CHECK(hash_of(other) != hash_of(kKey));
  other = kKey;
  other.accumulates = false;
  CHECK(hash_of(other) != hash_of(kKey));
  other = kKey;
  std::swap(other.m, other.n);
  CHECK(hash_of(other) != hash_of(kKey));
}

TEST_CASE("algorithms survive being written as digits; what is no algorithm is refused") {
  CHECK(from_hex(to_hex(bytes_from(200))) == bytes_from(200));
  CHECK(to_hex(bytes_from(0)).starts_with("000102"));
  CHECK_THROWS_WITH_AS(from_hex("00"), "algorithm '00'; expected 128 hexadecimal digits", Error);
  std::string bad = to_hex(bytes_from(0));
  bad.back() = 'g';
  CHECK_THROWS_AS(from_hex(bad), Error);
}

TEST_CASE("of the proposed algorithms those are left that add in one order and fit the partition") {
  const std::vector<ProductCandidate> proposed{
      {.algorithm = bytes_from(0), .split_k = 4},
      {.algorithm = bytes_from(1), .reduction_scheme = 2},
      {.algorithm = bytes_from(2), .cluster_size = 4},
      {.algorithm = bytes_from(4), .workspace_bytes = 64 << 20},
      {.algorithm = bytes_from(5), .cluster_size = 2, .workspace_bytes = 1 << 20},
      {.algorithm = bytes_from(6)},
  };
  const auto good = usable(proposed, {.workspace_bytes = 32 << 20, .cluster_size = 2});
  REQUIRE(good.size() == 3);
  CHECK(good[0].algorithm == bytes_from(5));
  CHECK(good[1].algorithm == bytes_from(6));
  CHECK(good[2].algorithm == bytes_from(2));  // its cluster may be too large
}

TEST_CASE("a table comes back from its text, and is refused for another GPU") {
  ProductTable table("cublasLt 130100, NVIDIA H200");
  table.set(kKey, bytes_from(9));
  ProductTable read("cublasLt 130100, NVIDIA H200");
  read.read(table.text(), "table.txt");
  CHECK(read.find(kKey) == bytes_from(9));
  CHECK(read.hash() == table.hash());
  ProductKey other = kKey;
  other.k = 17;
  CHECK_FALSE(read.find(other));
  ProductTable elsewhere("cublasLt 130100, NVIDIA A100");
  CHECK_THROWS_WITH_AS(elsewhere.read(table.text(), "table.txt"), doctest::Contains("table.txt:1: "), Error);
  CHECK_THROWS_WITH_AS(read.read(table.text() + "zz k\n", "table.txt"),
                       doctest::Contains("table.txt:3: algorithm 'zz'"), Error);
}

TEST_CASE("an algorithm of the table is taken without asking; a new one is the first that is usable") {
  ProductTable table("cublasLt 130100, NVIDIA H200");
  int asked = 0;
  const auto propose = [&] {
    ++asked;
    return std::vector<ProductCandidate>{{.algorithm = bytes_from(0), .split_k = 4}, {.algorithm = bytes_from(6)}};
  };
  const auto runs = [](const AlgorithmBytes&) { return std::optional(1.0); };
  const ProductLimits limits{.workspace_bytes = 1 << 20, .cluster_size = 2};
  CHECK(table.choose(kKey, limits, propose, runs) == bytes_from(6));
  CHECK(table.choose(kKey, limits, propose, runs) == bytes_from(6));
  CHECK(asked == 1);
  ProductKey other = kKey;
  other.alignment = 4;
  const auto nothing = [] { return std::vector<ProductCandidate>{{.algorithm = bytes_from(0), .split_k = 4}}; };
  CHECK_THROWS_WITH_AS(table.choose(other, limits, nothing, runs),
                       "matrix product m64 n32 k16 TN bf16,bf16,f32 bias + align4 sms8: of 1 algorithms 0 add in one "
                       "order and fit, and none of these runs",
                       Error);
}

TEST_CASE("an algorithm that a partition refuses to launch is passed over, and not kept") {
  ProductTable table("cublasLt 130100, NVIDIA H200");
  const auto propose = [] {
    return std::vector<ProductCandidate>{
        {.algorithm = bytes_from(1), .cluster_size = 4}, {.algorithm = bytes_from(2)}, {.algorithm = bytes_from(3)}};
  };
  std::vector<AlgorithmBytes> tried;
  const auto runs = [&](const AlgorithmBytes& algorithm) -> std::optional<double> {
    tried.push_back(algorithm);
    return algorithm == bytes_from(3) ? std::optional(1.0) : std::nullopt;
  };
  const ProductLimits limits{.workspace_bytes = 1 << 20, .cluster_size = 2};
  CHECK(table.choose(kKey, limits, propose, runs) == bytes_from(3));
  CHECK(tried == std::vector{bytes_from(2), bytes_from(3)});
  CHECK(table.find(kKey) == bytes_from(3));
  ProductTable refused("cublasLt 130100, NVIDIA H200");
  const auto never = [](const AlgorithmBytes&) { return std::optional<double>(); };
  CHECK_THROWS_WITH_AS(refused.choose(kKey, limits, propose, never), doctest::Contains("3 add in one order and fit"),
                       Error);
  CHECK_FALSE(refused.find(kKey));
}

TEST_CASE("of the first usable algorithms that run the fastest is taken, timed once, and kept") {
  ProductTable table("cublasLt 130100, NVIDIA H200", 3);
  const auto propose = [] {
    std::vector<ProductCandidate> proposed;
    for (std::uint8_t first = 0; first < 5; ++first) proposed.push_back({.algorithm = bytes_from(first)});
    return proposed;
  };
  int timed = 0;
  const auto time = [&](const AlgorithmBytes& algorithm) -> std::optional<double> {
    ++timed;
    if (algorithm == bytes_from(0)) return std::nullopt;  // refused: counts as no trial
    if (algorithm == bytes_from(4)) return 0.1;           // the fastest, but the fourth that runs
    return algorithm == bytes_from(1) ? 2.0 : 1.5;
  };
  const ProductLimits limits{.workspace_bytes = 1 << 20, .cluster_size = 2};
  CHECK(table.choose(kKey, limits, propose, time) == bytes_from(2));  // as fast as 3, and before it
  CHECK(timed == 4);
  CHECK(table.choose(kKey, limits, propose, time) == bytes_from(2));
  CHECK(timed == 4);
  ProductTable again("cublasLt 130100, NVIDIA H200", 3);
  again.read(table.text(), "table.txt");
  CHECK(again.choose(kKey, limits, propose, time) == bytes_from(2));
  CHECK(timed == 4);
}

TEST_CASE("a table is kept in a file, which a table of another library or GPU refuses") {
  const testing::ScratchDirectory scratch;
  const std::filesystem::path path = scratch.path() / "table.txt";
  ProductTable table("cublasLt 130100, NVIDIA H200");
  table.load(path);  // nothing there yet
  table.set(kKey, bytes_from(9));
  table.save(path);
  ProductTable again("cublasLt 130100, NVIDIA H200");
  again.load(path);
  CHECK(again.find(kKey) == bytes_from(9));
  std::filesystem::remove(path);
  again.save(path);
  CHECK_FALSE(std::filesystem::exists(path));  // it has nothing new
  table.set(kKey, bytes_from(10));
  table.save(path);
  ProductTable elsewhere("cublasLt 130200, NVIDIA H200");
  CHECK_THROWS_WITH_AS(elsewhere.load(path), doctest::Contains("table.txt:1: "), Error);
}

}  // namespace plumb::cuda

TEST_SUITE_END();
