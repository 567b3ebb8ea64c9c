#include "models/import/load_network.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/network/vocabulary_rows.hpp"
#include "models/stages/network_costs.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;

TEST_CASE("names of networks ignore capital letters, dashes, underscores and blanks, and nothing else") {
  const Network network = load_network("llama3.1-405b");
  for (const char* name : {"Llama3.1-405B", "LLAMA3.1_405B", "llama 3.1 405b"}) {
    CAPTURE(name);
    CHECK(load_network(name) == network);
  }
  CHECK_THROWS_WITH_AS(load_network("llama31-405b"), doctest::Contains("did you mean 'llama3.1-405b'"), Error);
  CHECK_THROWS_WITH_AS(load_network("LLAMA3-80B"), doctest::Contains("did you mean 'llama3-70b'"), Error);
}

TEST_CASE("what people call a network is the built-in one of its sizes") {
  CHECK(builtin_network_called("Llama-3.1-70B-Instruct") == "llama3-70b");
  CHECK(builtin_network_called("Llama-2-7b-hf") == "llama2-7b");
  CHECK(builtin_network_called("gpt2") == "gpt2-small");
  CHECK(builtin_network_called("Mixtral-8x7B-v0.1") == "mixtral-8x7b");
  CHECK(builtin_network_called("DeepSeek-V3-Base") == "deepseek-v3");
  CHECK(builtin_network_called("Qwen3-8B") == "qwen3-8b");
  CHECK(builtin_network_called("llama").empty());
  CHECK(builtin_network_called("hf").empty());
  CHECK(load_network("Llama-3.1-8B") == load_network("llama3-8b"));
}

TEST_CASE("a longer vocabulary adds rows to the embedding and the head, once where they are tied") {
  const Network tied = load_network("gpt2-small");
  REQUIRE(vocabulary_rows(tied) == 50257);
  CHECK(parameter_count(with_vocabulary_rows(tied, 50304)) == parameter_count(tied) + 47 * 768);
  const Network apart = load_network("llama3-8b");
  CHECK(parameter_count(with_vocabulary_rows(apart, 128512)) == parameter_count(apart) + 2 * 256 * 4096);
  CHECK(vocabulary_rows(load_network("vgg-16")) == 0);
  CHECK_THROWS_WITH_AS(with_vocabulary_rows(load_network("vgg-16"), 8), doctest::Contains("no head with a vocabulary"),
                       Error);
}

TEST_CASE("a profiler's trace is no network, and what reads it is named") {
  const testing::ScratchDirectory folder;
  const std::string path = folder.write("rank0.json", R"({"schemaVersion": 1, "traceEvents": []})").string();
  CHECK_THROWS_WITH_AS(load_network(path),
                       doctest::Contains("rank0.json: is a profiler's trace, expected a network; the times of a traced "
                                         "run become a profile by `plumbline trace`"),
                       Error);
}

TEST_CASE("an id of a hub is not downloaded, and the built-in network with the nearest name is told") {
  CHECK_THROWS_WITH_AS(load_network("meta-llama/Llama-3.1-405X"),
                       "network 'meta-llama/Llama-3.1-405X': nothing is downloaded and there is no such file; expected "
                       "the model's config.json on this disk, or a built-in network, of which 'llama3.1-405b' has the "
                       "nearest name",
                       Error);
  CHECK_THROWS_WITH_AS(
      load_network("someone/zzzzzzzzzzzzzzzzzzzzzzzzzzzz"),
      "network 'someone/zzzzzzzzzzzzzzzzzzzzzzzzzzzz': nothing is downloaded and there is no such file; "
      "expected the model's config.json on this disk, or a built-in network",
      Error);
}

TEST_SUITE_END();
