#include "trainer/cuda/dnn_attention.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/cuda_kernels/attention_memory.hpp"
#include "trainer/cuda/dnn_check.hpp"

TEST_SUITE_BEGIN("dnn");

namespace plumb::cuda {
namespace {

using Values = std::vector<std::vector<float>>;

/// What became of one attention, forward and backward.
struct Outcome {
  bool forward = false;   ///< cuDNN answered
  bool backward = false;  ///< likewise
  std::string summary;
  std::string difference;  ///< from our kernels
};

/// The stand-in for cuDNN with a fault, asked twice each way.
Outcome attend(const AttentionKind& kind, const char* fault, bool timed = false, int sms = 0) {
  setenv("PLUMB_FAKE_CUDNN", fault, 1);  // NOLINT(concurrency-mt-unsafe): one thread
  const AttentionMemory memory(kind);
  const auto forward = memory.forward();
  const auto backward = memory.backward();
  kernels::attention_forward(forward, nullptr);
  kernels::attention_backward(backward, nullptr);
  const Values ours = values_of(results_of(forward), nullptr);
  const Values our_gradients = values_of(results_of(backward), nullptr);
  const auto table = std::make_shared<DnnTable>("attention", dnn_table_head("the host"));
  DnnAttention attention(table, timed);
  const auto units = attention.units(memory.place(sms));
  Outcome outcome;
  for (int i = 0; i < 2; ++i) {
    outcome.forward = units->forward(forward, nullptr);
    if (!outcome.forward) kernels::attention_forward(forward, nullptr);
    outcome.backward = units->backward(backward, nullptr);
    if (!outcome.backward) kernels::attention_backward(backward, nullptr);
  }
  outcome.summary = table->summary();
  outcome.difference = difference_of(results_of(forward), values_of(results_of(forward), nullptr), ours) +
                       difference_of(results_of(backward), values_of(results_of(backward), nullptr), our_gradients);
  CHECK(memory.intact());
  unsetenv("PLUMB_FAKE_CUDNN");  // NOLINT(concurrency-mt-unsafe): likewise
  return outcome;
}

const AttentionKind kGrouped{.samples = 2, .sequence = 19, .heads = 4, .group = 2, .head_width = 16};
const AttentionKind kSliced{.samples = 2, .sequence = 8, .before = 9, .heads = 2, .head_width = 8};

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

TEST_CASE("cuDNN answers both ways where its results are ours, on parts of a GPU, too") {
  for (const int sms : {0, 8}) {
    for (const AttentionKind& kind : {kGrouped, kSliced}) {
      const Outcome outcome = attend(kind, "", false, sms);
      CHECK(outcome.forward);
      CHECK(outcome.backward);
      CHECK(outcome.summary == "attention: cuDNN 9.19.0 for 2 of 2 kinds");
      CHECK(outcome.difference == "");
    }
  }
}

TEST_CASE("a cuDNN that keeps log sums by head answers, and ours find them by token") {
  for (const AttentionKind& kind : {kGrouped, kSliced}) {
    const Outcome outcome = attend(kind, "by_head");
    CHECK(outcome.forward);
    CHECK(outcome.backward);
    CHECK(outcome.difference == "");
  }
}

TEST_CASE("our kernels answer where cuDNN is wrong, refuses, promises no fixed order, is too old, or is not faster") {
  const auto own = [](const char* fault, bool timed, const std::string& why) {
    CAPTURE(fault);
    const Outcome outcome = attend(kGrouped, fault, timed);
    CAPTURE(outcome.summary);
    CHECK_FALSE(outcome.forward);
    CHECK_FALSE(outcome.backward);
    CHECK(outcome.difference == "");
    CHECK(ends_with(outcome.summary, why));
  };
  own("wrong", false,
      "attended by cuDNN differs by 0.5 from our kernels; the gradient of queries by cuDNN differs by 0.5 from our "
      "kernels)");
  own("none", false, "own kernels for 2 (cuDNN 9.19.0 has no plan: it proposes nothing)");
  own("nondeterministic", false, "(cuDNN 9.19.0 has no plan: it adds in no fixed order)");
  own("old", false, "(it is older than 9.11)");
  own("", true, "own kernels for 2 (they are faster)");
}

TEST_CASE("memory that begins at no multiple of 16 bytes and samples of different lengths are for our kernels") {
  const AttentionMemory memory(kGrouped);
  const auto table = std::make_shared<DnnTable>("attention", dnn_table_head("the host"));
  DnnAttention attention(table, false);
  const auto units = attention.units(memory.place(0));
  auto forward = memory.forward();
  ++forward.attended.rows;
  CHECK_FALSE(units->forward(forward, nullptr));
  forward = memory.forward();
  const std::vector<std::int32_t> lengths{3, 4};
  forward.shape.lengths = lengths.data();
  CHECK_FALSE(units->forward(forward, nullptr));
  forward = memory.forward();
  forward.attended.rows = nullptr;
  CHECK_FALSE(units->forward(forward, nullptr));
  CHECK(ends_with(table->summary(),
                  "own kernels for 3 (memory at no multiple of 16 bytes; only log sums are wanted; "
                  "samples of different lengths)"));
}

}  // namespace plumb::cuda

TEST_SUITE_END();
