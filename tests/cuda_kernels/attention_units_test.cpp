#include "trainer/cuda/kernels/attention/attention_units.hpp"

#include <doctest/doctest.h>

#include "tests/cuda_kernels/device_buffer.hpp"
#include "tests/cuda_kernels/layer_case.hpp"
#include "trainer/cuda/kernels/attention/transposed_rows.hpp"
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

TEST_CASE("numbers by token and head become numbers by head and token, sample by sample") {
  const SampleMatrices of{.samples = 2, .rows = 70, .columns = 3};
  const std::vector<double> by_token = random_numbers(2 * 70 * 3, 1);
  const DeviceBuffer<float> from(by_token);
  const DeviceBuffer<float> to(by_token.size());
  transpose_rows(from.data(), to.data(), of, nullptr);
  const auto by_head = to.read();
  for (std::size_t i = 0; i < by_token.size(); ++i) {
    const std::size_t sample = i / 210;
    const std::size_t token = i % 210 / 3;
    CHECK(by_head[sample * 210 + i % 3 * 70 + token] == from.data()[i]);
  }
  CHECK(to.intact());
}

}  // namespace plumb::kernels

TEST_SUITE_END();
