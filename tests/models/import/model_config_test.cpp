#include <string>

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"
#include "models/import/model_config.hpp"
#include "models/stages/network_costs.hpp"
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

TEST_CASE("heads that do not fill the width, and norms of heads, count to the last parameter") {
  const auto qwen3 =
      [](const std::string& type, const std::string& sizes) {
        return parameter_count(configured(R"({"model_type": ")" + type + R"(", "attention_bias": false, "head_dim": 128,
        "vocab_size": 151936, )" + sizes + "}"));
      };
  // Totals of the checkpoints' safetensors files on Hugging Face (Qwen/Qwen3-..., mistralai/Mistral-Nemo-Base-2407,
  // google/gemma-7b); that of 0.6B holds its tied table twice: 751,632,384 = 596,049,920 + 151936 x 1024.
  CHECK(qwen3("qwen3", R"("hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16,
      "num_key_value_heads": 8, "intermediate_size": 3072, "tie_word_embeddings": true)") == 596'049'920);
  CHECK(qwen3("qwen3", R"("hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32,
      "num_key_value_heads": 8, "intermediate_size": 12288)") == 8'190'735'360);
  CHECK(qwen3("qwen3", R"("hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 64,
      "num_key_value_heads": 8, "intermediate_size": 25600)") == 32'762'123'264);
  CHECK(qwen3("qwen3_moe", R"("hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 32,
      "num_key_value_heads": 4, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128,
      "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [])") == 30'532'122'624);
  CHECK(parameter_count(configured(R"({"model_type": "mistral", "hidden_size": 5120, "num_hidden_layers": 40,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 14336,
      "vocab_size": 131072})")) == 12'247'782'400);
  CHECK(parameter_count(configured(R"({"model_type": "gemma", "hidden_size": 3072, "num_hidden_layers": 28,
      "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256, "intermediate_size": 24576,
      "vocab_size": 256000})")) == 8'537'680'896);
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
  CHECK(wrong(R"({"model_type": "qwen3", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 3, "head_dim": 32, "intermediate_size": 8, "vocab_size": 9})")
            .find("kv_heads (3) must divide heads (4)") != std::string::npos);
  CHECK(wrong(R"({"model_type": "gpt2", "n_embd": 8, "n_layer": 1001, "n_head": 2})").find("n_layer") !=
        std::string::npos);
}

namespace {

/// The layer of this kind that comes first, also inside of residual blocks.
LayerSpec first_layer(const Network& network, LayerKind kind) {
  for (const LayerSpec& layer : network.layers) {
    if (layer.kind == kind) return layer;
    for (const LayerSpec& inner : layer.body) {
      if (inner.kind == kind) return inner;
    }
  }
  return {};
}

Network tiny_gpt2(const std::string& more) {
  return configured(R"({"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 9)" + more + "}");
}
Network tiny_llama(const std::string& type, const std::string& more) {
  return configured(R"({"model_type": ")" + type + R"(", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "intermediate_size": 8, "vocab_size": 9)" +
                    more + "}");
}

}  // namespace

TEST_CASE("the activation, the epsilon and the tied head of a configuration go into the layers") {
  const std::vector<std::pair<std::string, Activation>> names{
      {"gelu", Activation::kGelu}, {"gelu_new", Activation::kGeluTanh}, {"gelu_pytorch_tanh", Activation::kGeluTanh},
      {"relu", Activation::kRelu}, {"silu", Activation::kSilu},         {"swish", Activation::kSilu}};
  for (const auto& [name, activation] : names) {
    CAPTURE(name);
    const Network gpt2 = tiny_gpt2(R"(, "activation_function": ")" + name + "\"");
    CHECK(first_layer(gpt2, LayerKind::kMlp).activation == activation);
    const LayerSpec mlp = first_layer(tiny_llama("llama", R"(, "hidden_act": ")" + name + "\""), LayerKind::kMlp);
    CHECK(mlp.activation == activation);
    CHECK(mlp.gated);
  }
  const Network gpt2 = tiny_gpt2(R"(, "layer_norm_epsilon": 1e-6)");
  CHECK(first_layer(gpt2, LayerKind::kLayerNorm).epsilon == 1e-6);
  CHECK(gpt2.layers[3].epsilon == 1e-6);  // the last norm
  CHECK(gpt2.layers.back().tied);
  CHECK_FALSE(tiny_gpt2(R"(, "tie_word_embeddings": false)").layers.back().tied);
  // What the classes take for granted.
  CHECK(first_layer(tiny_gpt2(""), LayerKind::kLayerNorm).epsilon == 1e-5);
  CHECK(first_layer(tiny_llama("llama", ""), LayerKind::kRmsNorm).epsilon == 1e-6);
  CHECK(first_layer(tiny_llama("llama", R"(, "rms_norm_eps": 0.001)"), LayerKind::kRmsNorm).epsilon == 0.001);
  CHECK(first_layer(tiny_gpt2(""), LayerKind::kMlp).activation == Activation::kGeluTanh);
  CHECK(first_layer(tiny_llama("llama", ""), LayerKind::kMlp).activation == Activation::kSilu);
}

TEST_CASE("rotary base and scaling of a configuration go into attention, in the old form and in the new one") {
  const auto turns = [](const std::string& more) {
    return first_layer(tiny_llama("llama", more), LayerKind::kAttention).turns;
  };
  CHECK(turns("") == RotaryTurns{});
  CHECK(turns(R"(, "rope_theta": 500000.0)") == RotaryTurns{.base = 500000});
  CHECK(turns(R"(, "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"})") ==
        RotaryTurns{.base = 500000});
  CHECK(turns(R"(, "rope_scaling": {"type": "linear", "factor": 2.0})") == RotaryTurns{.factor = 2});
  const RotaryTurns llama3{.base = 500000, .factor = 8, .low = 2, .high = 6, .original = 8192};
  const std::string scaling = R"("factor": 8.0, "low_freq_factor": 2.0, "high_freq_factor": 6.0,
      "original_max_position_embeddings": 8192, "rope_type": "llama3"})";
  CHECK(turns(R"(, "rope_theta": 500000.0, "rope_scaling": {)" + scaling) == llama3);
  CHECK(turns(R"(, "rope_parameters": {"rope_theta": 500000.0, )" + scaling) == llama3);
  const Network mixtral = tiny_llama("mixtral", R"(, "num_local_experts": 2, "num_experts_per_tok": 1)");
  CHECK(first_layer(mixtral, LayerKind::kAttention).turns.base == 1e6);
}

TEST_CASE("a sliding window is that of the layers that have one") {
  const auto windows = [](const std::string& type, const std::string& more) {
    std::vector<std::int64_t> found;
    for (const LayerSpec& layer : tiny_llama(type, more).layers) {
      if (!layer.body.empty() && layer.body[1].kind == LayerKind::kAttention) found.push_back(layer.body[1].window);
    }
    return found;
  };
  using Windows = std::vector<std::int64_t>;
  CHECK(windows("mistral", R"(, "sliding_window": 16)") == Windows{16, 16});
  CHECK(windows("mistral", R"(, "sliding_window": null)") == Windows{0, 0});
  CHECK(windows("mistral", "") == Windows{4096, 4096});  // the class's default
  CHECK(windows("qwen2", R"(, "sliding_window": 16)") == Windows{0, 0});
  const std::string used = R"(, "sliding_window": 16, "use_sliding_window": true)";
  CHECK(windows("qwen2", used) == Windows{0, 0});  // from layer 28 on
  CHECK(windows("qwen2", used + R"(, "max_window_layers": 1)") == Windows{0, 16});
  CHECK(windows("qwen2", used + R"(, "layer_types": ["sliding_attention", "full_attention"])") == Windows{16, 0});
  CHECK(windows("llama", R"(, "sliding_window": 16)") == Windows{0, 0});
  CHECK(tiny_llama("llama", R"(, "sliding_window": 16)").source.ends_with("not known and not read: sliding_window"));
}

TEST_CASE("arithmetic that no layer of ours has makes the layer known by its costs only, with place and value") {
  const auto why = [](const Network& network, LayerKind kind) { return first_layer(network, kind).costs_only; };
  CHECK(why(tiny_gpt2(R"(, "activation_function": "quick_gelu")"), LayerKind::kMlp) ==
        "model/config.json:1:104: activation_function: 'quick_gelu' has no arithmetic here; supported: gelu, "
        "gelu_new, gelu_pytorch_tanh, relu, silu (and gelu_python, gelu_python_tanh, swish)");
  CHECK(why(tiny_gpt2(R"(, "scale_attn_by_inverse_layer_idx": true)"), LayerKind::kAttention)
            .find("scale_attn_by_inverse_layer_idx: true has no arithmetic here; supported: false") !=
        std::string::npos);
  CHECK(why(tiny_llama("llama", R"(, "rope_scaling": {"rope_type": "yarn", "factor": 4.0})"), LayerKind::kAttention)
            .find("rope_scaling.rope_type: 'yarn' has no arithmetic here; supported: default, linear, llama3") !=
        std::string::npos);
  CHECK(why(tiny_llama("gemma", R"(, "head_dim": 16)"), LayerKind::kRmsNorm) ==
        "model_type gemma: norms scale by 1 + weight");
  CHECK(error_message([] { tiny_gpt2(R"(, "add_cross_attention": true)"); }).find("add_cross_attention") !=
        std::string::npos);
  CHECK(why(tiny_gpt2(""), LayerKind::kMlp).empty());
}

TEST_CASE("the source of a configuration tells what was taken, what was left out and which keys are not known") {
  CHECK(tiny_gpt2(R"(, "resid_pdrop": 0.0, "n_ctx": 1024, "flux": 3)").source ==
        "model/config.json, a Hugging Face configuration of type gpt2; with layer_norm_epsilon 1e-05, "
        "activation_function gelu_new; without dropout (embd_pdrop 0.1, attn_pdrop 0.1); keys that are not known and "
        "not read: flux");
}
