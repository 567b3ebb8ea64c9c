#include <string>

#include <doctest/doctest.h>

#include "models/import/model_config.hpp"
#include "models/network_costs.hpp"
#include "models/network_io.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

namespace {

using namespace plumb;
using plumb::testing::error_message;

Network configured(const std::string& json) { return network_from_model_config(json, "model/config.json"); }

const std::string kLlama3 =
    R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 8192,
        "hidden_act": "silu", "rope_theta": 500000.0, "torch_dtype": "bfloat16"})";

}  // namespace

TEST_CASE("configurations of published models have their parameter counts") {
  CHECK(parameter_count(configured(kLlama3)) == 8'030'261'248);
  CHECK(parameter_count(configured(R"({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25,
      "n_positions": 1024, "vocab_size": 50257, "n_inner": null})")) == 1'557'611'200);
  // Qwen2-0.5B and Qwen2-7B: biases of queries, keys and values alone.
  CHECK(parameter_count(configured(R"({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24,
      "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936,
      "tie_word_embeddings": true})")) == 494'032'768);
  CHECK(parameter_count(configured(R"({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28,
      "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064})")) ==
        7'615'616'512);
  CHECK(parameter_count(configured(R"({"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000,
      "num_local_experts": 8, "num_experts_per_tok": 2})")) == 46'702'792'704);
  CHECK(parameter_count(configured(R"({"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
      "num_attention_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "vocab_size": 129280,
      "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
      "moe_layer_freq": 1, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
      "v_head_dim": 128, "num_nextn_predict_layers": 1})")) == 671'026'404'352);
}

TEST_CASE("a configuration gives the built-in network of the same model") {
  const Network builtin = load_network("llama3-8b");
  const Network network = configured(kLlama3);
  REQUIRE(network.layers.size() == builtin.layers.size());
  CHECK(network.sequence == builtin.sequence);
  CHECK(network.name == "model");
  for (std::size_t k = 0; k < network.layers.size(); ++k) CHECK(network.layers[k].kind == builtin.layers[k].kind);
}

TEST_CASE("what a configuration says beyond our layers is named, or refused with its place") {
  const std::string qwen = R"({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 2,
      "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936,
      "tie_word_embeddings": true})";
  CHECK(configured(qwen).layers.back().tied);
  CHECK(configured(qwen).source.find("without") == std::string::npos);
  const auto wrong = [](const std::string& json) { return error_message([&] { configured(json); }); };
  CHECK(wrong(R"({"model_type": "lama"})") ==
        "model/config.json:1:16: model_type: unknown model type 'lama' (did you mean 'llama'?)");
  CHECK(wrong(R"({"model_type": "llama", "hidden_size": 64})").find("missing key") != std::string::npos);
  CHECK(
      wrong(
          R"({"model_type": "mistral", "hidden_size": 64, "num_attention_heads": 4, "head_dim": 32, "vocab_size": 9})")
          .find("head_dim: expected heads that fill the width (64), found 4 of 32") != std::string::npos);
  CHECK(wrong(R"({"model_type": "gpt2", "n_embd": 8, "n_layer": 1001, "n_head": 2})").find("n_layer") !=
        std::string::npos);
}
