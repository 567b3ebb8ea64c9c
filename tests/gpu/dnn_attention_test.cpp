// Attention by cuDNN beside our kernels. A suite of its own: where it fails, our kernels are as good as ever. For every
// kind a line "attention,KIND,DIRECTION,OWN_MS,CUDNN_MS" (results/fidelity/scripts/gpu/dnn_parts.py).
#include <doctest/doctest.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "tests/cuda_kernels/attention_memory.hpp"
#include "trainer/cuda/cuda_call.hpp"
#include "trainer/cuda/dnn_attention.hpp"
#include "trainer/cuda/dnn_check.hpp"
#include "trainer/cuda/gpu.hpp"
#include "trainer/cuda/op_graphs.hpp"
#include "trainer/cuda/product_trial.hpp"

TEST_SUITE_BEGIN("cudnn");

namespace plumb::cuda {
namespace {

/// cuDNN on this machine, or why it is not there.
struct Dnn {
  std::shared_ptr<DnnTable> table;
  std::unique_ptr<DnnAttention> attention;

  Dnn() {
    try {
      table = std::make_shared<DnnTable>("attention", dnn_table_head("this GPU"));
      attention = std::make_unique<DnnAttention>(table, false);
    } catch (const Error& error) {
      std::cout << "no attention by cuDNN: " << error.what() << "\n";
    }
  }
};

/// Both makers on the same memory: results within what bf16 explains, several times the same bits, nothing outside.
template <class Own, class Library>
void compare(const AttentionMemory& memory, const std::vector<DnnResult>& results, Own own, Library library) {
  own();
  const auto ours = values_of(results, nullptr);
  REQUIRE(library());
  const auto theirs = values_of(results, nullptr);
  CHECK(difference_of(results, theirs, ours) == "");
  const int repetitions = memory.qkv.count() > (1U << 22U) ? 3 : 12;  // to read more takes longer than to compute it
  for (int i = 0; i < repetitions; ++i) {
    library();
    CHECK((values_of(results, nullptr) == theirs));
  }
  CHECK(memory.intact());
}

double milliseconds(const std::function<void()>& launch) {
  return ProductTrial({}, nullptr).time([&] { return launch(), true; }).value_or(0);
}

void check_kind(const Dnn& dnn, const AttentionKind& kind) {
  const AttentionMemory memory(kind);
  const auto units = dnn.attention->units(memory.place(0));
  const auto forward = memory.forward();
  const auto backward = memory.backward();
  const std::string name = text_of(key_of(kind, false));
  CAPTURE(name);
  const auto own_forward = [&] { kernels::attention_forward(forward, nullptr); };
  const auto own_backward = [&] { kernels::attention_backward(backward, nullptr); };
  compare(memory, results_of(forward), own_forward, [&] { return units->forward(forward, nullptr); });
  CAPTURE(dnn.table->summary());
  if (kind.before + kind.sequence > 1) {  // cuDNN has no gradient of a single key
    compare(memory, results_of(backward), own_backward, [&] { return units->backward(backward, nullptr); });
  }
  if (kind.sequence < 1024) return;
  const std::string row = "attention," + name.substr(name.find(' ') + 1);
  const auto print = [&](const char* direction, double own, double library) {
    std::string text = row;
    for (char& c : text) c = c == ' ' ? '_' : c;
    std::cout << text.substr(0, text.find("_rows")) << "," << direction << "," << own << "," << library << "\n";
  };
  print("forward", milliseconds(own_forward), milliseconds([&] { units->forward(forward, nullptr); }));
  print("backward", milliseconds(own_backward), milliseconds([&] { units->backward(backward, nullptr); }));
}

}  // namespace

TEST_CASE("attention by cuDNN equals our kernels' and has the same bits every time") {
  const Dnn dnn;
  if (dnn.attention == nullptr) return;
  for (const std::int64_t head_width : {64, 128}) {
    for (const std::int64_t sequence : {1, 65, 1024}) {
      check_kind(dnn, {.samples = 2, .sequence = sequence, .heads = 4, .head_width = head_width});
      check_kind(dnn, {.samples = 2, .sequence = sequence, .heads = 4, .group = 2, .head_width = head_width});
    }
    check_kind(dnn, {.samples = 2, .sequence = 128, .heads = 4, .head_width = head_width, .causal = false});
    check_kind(dnn, {.samples = 2, .sequence = 256, .before = 768, .heads = 4, .head_width = head_width});
  }
  check_kind(dnn, {.samples = 8, .sequence = 1024, .heads = 12});
  check_kind(dnn, {.samples = 8, .sequence = 1024, .heads = 16});
}

TEST_CASE("attention by cuDNN has the same bits on a part of the GPU, launched plainly and replayed from a graph") {
  const Dnn dnn;
  if (dnn.attention == nullptr) return;
  const AttentionMemory memory({.samples = 2, .sequence = 1024, .heads = 4});
  const auto backward = memory.backward();
  kernels::attention_forward(memory.forward(), nullptr);
  REQUIRE(dnn.attention->units(memory.place(0))->backward(backward, nullptr));
  const auto expected = values_of(results_of(backward), nullptr);
  StreamOptions options;
  options.devices = 2;
  Gpu gpu(0, 2, options);
  gpu.make_stream(0, StreamKind::kCompute);
  const cudaStream_t stream = gpu.make_stream(1, StreamKind::kCompute);
  gpu.check_streams();
  const auto units = dnn.attention->units(memory.place(gpu.sms()));
  OpGraphs graphs;
  for (int i = 0; i < 4; ++i) {
    graphs.run("attention", stream, [&] { CHECK(units->backward(backward, stream)); });
    gpu.synchronize();
    CHECK((values_of(results_of(backward), stream) == expected));
  }
  CHECK_MESSAGE(graphs.size() == 1, graphs.refusal());
}

}  // namespace plumb::cuda

TEST_SUITE_END();
