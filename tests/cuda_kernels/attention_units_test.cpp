#include "trainer/cuda/kernels/attention/attention_units.hpp"

#include <doctest/doctest.h>

#include "tests/cuda_kernels/layer_case.hpp"
#include "trainer/cuda/kernels/stream.hpp"

TEST_SUITE_BEGIN("cuda");

namespace plumb::kernels {
namespace {

/// Somebody else who computes as our kernels do, or refuses.
struct CountedUnits final : AttentionUnits {
  explicit CountedUnits(bool answers) : answers_(answers) {}

  bool forward(const AttentionForward<BFloat16>& attention, Stream stream) override {
    ++forwards;
    if (answers_) attention_forward(attention, stream);
    return answers_;
  }
  bool backward(const AttentionBackward<BFloat16>& attention, Stream stream) override {
    ++backwards;
    if (answers_) attention_backward(attention, stream);
    return answers_;
  }

  int forwards = 0;
  int backwards = 0;

 private:
  bool answers_;
};

}  // namespace

TEST_CASE("layers in bf16 ask the device's attention once each way, and our kernels where it refuses") {
  LayerCase of{.spec = {.kind = LayerKind::kAttention, .name = "attention", .width = 32, .heads = 2}, .shape = {2, 17}};
  const LayerResults alone = run_on_device<BFloat16>(of);
  for (const bool answers : {true, false}) {
    CountedUnits units(answers);
    of.attention = &units;
    CHECK((run_on_device<BFloat16>(of) == alone));
    CHECK(units.forwards == 1);
    CHECK(units.backwards == 1);
    run_on_device<float>(of);
    CHECK(units.forwards == 1);
  }
}

}  // namespace plumb::kernels

TEST_SUITE_END();
