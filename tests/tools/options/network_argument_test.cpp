#include "tools/options/cost_arguments.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/error_message.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tools/terminal/notes.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

/// A configuration of Hugging Face; `more` begins with a comma.
std::string llama(const std::string& more) {
  return R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
             "intermediate_size": 128, "vocab_size": 256, "max_position_embeddings": 64, "torch_dtype": "bfloat16",
             "transformers_version": "4.50.0", "use_cache": true, "bos_token_id": 1)" +
         more + "}";
}

}  // namespace

TEST_CASE("keys of a configuration that nobody reads are named once where the network is used, harmless ones are not") {
  const ScratchDirectory scratch;
  const std::string path = (scratch.path() / "llama.json").string();
  const auto noted = [&](const std::string& more) {
    scratch.write("llama.json", llama(more));
    const CollectedNotes notes;
    network_argument(path);
    return notes.lines();
  };
  CHECK(noted("").empty());
  CHECK(noted(R"(, "sliding_window": null)").empty());
  const std::string last = "; the network computes as if the file did not say it";
  CHECK(noted(R"(, "logits_scaling": 8.0)") ==
        std::vector<std::string>{"plumbline: note: " + path + ": not read: logits_scaling" + last});
  CHECK(noted(R"(, "logits_scaling": 8.0, "sliding_window": 16)") ==
        std::vector<std::string>{"plumbline: note: " + path + ": not read: logits_scaling, sliding_window" + last});
  // Read by this class.
  scratch.write("llama.json", R"({"model_type": "mistral",)" + llama(R"(, "sliding_window": 16)").substr(23));
  const CollectedNotes notes;
  network_argument(path);
  CHECK(notes.lines().empty());
}

TEST_CASE("simulate, plan and train say it on standard error, and the answer stays as it is") {
  const ScratchDirectory scratch;
  scratch.write("llama.json", llama(R"(, "logits_scaling": 8.0)"));
  const std::string line = "plumbline: note: llama.json: not read: logits_scaling; ";
  for (const std::string command : {"simulate 1f1b -p 2 -m 2 --cluster a100 --network llama.json",
                                    "sweep 1f1b -p 2 -m 2,4 --cluster a100 --network llama.json",
                                    "plan --cluster a100 --devices 2 --batch 4 --network llama.json",
                                    "train 1f1b -p 2 -m 2 --steps 1 --sequence 8 --network llama.json"}) {
    CAPTURE(command);
    const CommandResult result = run_command("plumbline " + command, scratch.path());
    CAPTURE(result.err);
    CHECK(result.status == 0);
    const std::size_t first = result.err.find(line);
    CHECK(first != std::string::npos);
    CHECK(result.err.find(line, first + 1) == std::string::npos);
    CHECK(result.out.find("not read: logits_scaling") == std::string::npos);
  }
}

TEST_CASE("a cut that the layers do not allow is told with the file, line, column and key of the layers") {
  const ScratchDirectory scratch;
  const std::string path = (scratch.path() / "n.json").string();
  scratch.write("n.json", R"({
  "format": "plumbline-network", "version": 1, "name": "n", "source": "", "sequence": 4, "width": 8,
  "layers": [{"kind": "linear", "outputs": 8}]
})");
  const Network network = network_argument(path);
  for (const std::string cut : {"equal", "balanced"}) {
    CAPTURE(cut);
    CHECK(error_message([&] {
            cut_network(parse_cut(cut), {network, path}, 2, [] { return std::vector<std::int64_t>{5}; });
          }) == path + ":3:13: layers: partition: 2 stages need at least as many layers, found 1");
  }
  const std::string other = (scratch.path() / "llama.json").string();
  scratch.write("llama.json", llama(""));
  const Network read = network_argument(other);
  CHECK(error_message([&] {
          cut_network({.kind = LayerCut::Kind::kEqual}, {read, other}, 80, {});
        }).starts_with(other + ": network 'llama': partition: 80 stages need at least as many layers, found "));
  const std::string name = "gpt-tiny";
  const Network tiny = network_argument(name);
  CHECK(error_message([&] {
          cut_network({.kind = LayerCut::Kind::kEqual}, {tiny, name}, 80, {});
        }).starts_with("network 'gpt-tiny': partition: 80 stages need at least as many layers, found "));
}

}  // namespace plumb::testing

TEST_SUITE_END();
