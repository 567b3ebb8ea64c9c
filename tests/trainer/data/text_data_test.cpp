#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/support/error_message.hpp"
#include "trainer/data/text_data.hpp"
#include "trainer/ground/random.hpp"

TEST_SUITE_BEGIN("trainer");

using namespace plumb;

TEST_CASE("the target of a token is the byte after it") {
  std::string text;
  for (int i = 0; i < 200; ++i) text.push_back(static_cast<char>(i));
  const TextData data(text);
  const Microbatch batch = data.microbatch(3, {.samples = 4, .sequence = 16}, 1);
  REQUIRE(batch.tokens.size() == 64);
  for (std::size_t t = 0; t < 64; ++t) {
    CHECK(batch.targets[t] == batch.tokens[t] + 1);  // bytes above 127 are not negative
    if (t % 16 != 0) CHECK(batch.tokens[t] == batch.tokens[t - 1] + 1);
  }
}

TEST_CASE("a microbatch depends on seed and number alone") {
  const TextData data(std::string(5000, 'x').replace(100, 5, "hello") + "the end of a text of which no part repeats");
  const MicrobatchShape shape{.samples = 2, .sequence = 8};
  const Microbatch first = data.microbatch(7, shape, 1);
  data.microbatch(8, shape, 1);
  CHECK(data.microbatch(7, shape, 1).tokens == first.tokens);
}

TEST_CASE("microbatches, samples and seeds start at different places") {
  std::string text(70000, ' ');
  for (std::size_t i = 0; i < text.size(); i += 2) {
    text[i] = static_cast<char>(i / 2 % 256);
    text[i + 1] = static_cast<char>(i / 512);
  }
  const TextData data(text);
  std::set<std::vector<std::int32_t>> starts;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (std::int64_t k = 0; k < 5; ++k) {
      const auto batch = data.microbatch(k, {.samples = 2, .sequence = 4}, seed);
      starts.insert({batch.tokens.begin(), batch.tokens.begin() + 4});
      starts.insert({batch.tokens.begin() + 4, batch.tokens.end()});
    }
  }
  CHECK(starts.size() == 50);
}

TEST_CASE("a text of one sequence and one byte is enough, a shorter one is refused") {
  const MicrobatchShape shape{.samples = 1, .sequence = 8};
  CHECK(TextData("123456789").microbatch(0, shape, 1).targets.back() == '9');
  CHECK_THROWS_WITH_AS(TextData("12345678").microbatch(0, shape, 1),
                       "training text: 8 bytes, expected at least 9 (one sequence and the byte after it)", Error);
}

TEST_CASE("token ids of 16 bits are read with the low byte first, with the header of llm.c or without one") {
  const std::string ids("\x01\x00\x51\xC4\x02\x00\x03\x00", 8);  // 1, 50257, 2, 3
  std::string header(1024, '\0');
  header.replace(0, 4, "\x88\xD8\x34\x01");  // 20240520
  header[4] = 1;
  header[8] = 4;
  for (const std::string& contents : {ids, header + ids}) {
    TextData data = TextData::of_ids(contents, "train.bin");
    CHECK(data.size() == 4);
    CHECK(data.facts().vocabulary == 50258);
    const Microbatch batch = data.microbatch(0, {.samples = 1, .sequence = 3}, 1);
    CHECK(batch.tokens == std::vector<std::int32_t>{1, 50257, 2});
    CHECK(batch.targets == std::vector<std::int32_t>{50257, 2, 3});
    data.hold_out(3);
    CHECK(data.held_out(0, {.samples = 1, .sequence = 2}).tokens == std::vector<std::int32_t>{50257, 2});
    CHECK(data.facts().identity == "4 token ids, 3 held out");
  }
}

TEST_CASE("a file of token ids that is cut off is refused, with what was expected") {
  const auto refusal = [](const std::string& contents) {
    return testing::error_message([&] { TextData::of_ids(contents, "train.bin"); });
  };
  CHECK(refusal("123") == "train.bin: 3 bytes of token ids; expected two bytes per token");
  std::string header(1024, '\0');
  header.replace(0, 4, "\x88\xD8\x34\x01");
  header[4] = 1;
  header[8] = 4;
  CHECK(refusal(header + "123456") ==
        "train.bin: a header of version 1 with 4 tokens before 6 bytes; expected version 1 and two bytes per token");
}

TEST_CASE("SplitMix64 gives the published numbers for seed 1234567") {
  Random random(1234567);
  CHECK(random.next() == 6457827717110365317U);
  CHECK(random.next() == 3203168211198807973U);
  CHECK(random.next() == 9817491932198370423U);
}

TEST_CASE("normal numbers have mean 0 and deviation 1, and bounded ones stay below") {
  Random random(1);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / 20000) < 0.03);
  CHECK(std::sqrt(squares / 20000) == doctest::Approx(1).epsilon(0.03));
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.below(5));
  CHECK(seen == std::set<std::uint64_t>{0, 1, 2, 3, 4});
}

TEST_SUITE_END();
