#include <sys/mman.h>

#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "tests/cuda_kernels/device_buffer.hpp"
#include "tests/support/cuda_on_cpu/block.hpp"
#include "trainer/cuda/kernels/activation.hpp"
#include "trainer/cuda/kernels/attention/attention.hpp"
#include "trainer/cuda/kernels/blocks.hpp"
#include "trainer/cuda/kernels/cross_entropy.hpp"
#include "trainer/cuda/kernels/embedding.hpp"
#include "trainer/cuda/kernels/image.hpp"
#include "trainer/cuda/kernels/norms/norm.hpp"

// Sizes that 32 bits do not count. Of every launch only the blocks at both ends run, on memory of which only their
// pages exist: the last rows hold what the first ones hold, so they must become the same.

TEST_SUITE_BEGIN("cuda_kernels");

using namespace plumb;
using namespace plumb::kernels;

namespace {

constexpr std::int64_t kMany = std::int64_t{1} << 32;
constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kRows = kMany / kWidth + 32;
constexpr std::int64_t kEnd = 8 * kWidth;  ///< numbers of an end

/// Zeros, of which those that nobody touches take no room.
template <class T>
class FarBuffer {
 public:
  /// `seed`, unless it is 0: of random numbers at the beginning and, the same ones, at the end.
  explicit FarBuffer(std::int64_t count, std::uint64_t seed = 0) : count_(count) {
    data_ = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
    if constexpr (!std::is_integral_v<T> && !std::is_enum_v<T>) {
      if (seed > 0) fill(0, kEnd, seed);
      if (seed > 0) fill(count - kEnd, kEnd, seed);
    }
  }
  ~FarBuffer() { munmap(data_, bytes()); }
  FarBuffer(const FarBuffer&) = delete;
  FarBuffer& operator=(const FarBuffer&) = delete;

  T* data() const { return static_cast<T*>(data_); }
  void fill(std::int64_t first, std::int64_t count, std::uint64_t seed) {
    const std::vector<double> numbers = random_numbers(static_cast<std::size_t>(count), seed);
    for (std::int64_t i = 0; i < count; ++i) {
      data()[first + i] = from_float<T>(static_cast<float>(numbers[static_cast<std::size_t>(i)]));
    }
  }
  /// Whether the ends are equal, and not nothing.
  bool has_equal_ends(std::int64_t count) const {
    const auto size = static_cast<std::size_t>(count) * sizeof(T);
    const std::vector<std::byte> nothing(size);
    return std::memcmp(data(), data() + count_ - count, size) == 0 && std::memcmp(data(), nothing.data(), size) != 0;
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }

  void* data_;
  std::int64_t count_;
};

/// While it lives.
class EndsOnly {
 public:
  EndsOnly() { cuda_on_cpu::run_ends_only(true); }
  ~EndsOnly() { cuda_on_cpu::run_ends_only(false); }
};

/// Rows so far apart that five of them do not lie within 2^32 bytes of each other.
constexpr std::int64_t kFarStride = (std::int64_t{1} << 29) + 8;

template <class T>
struct FarAttention {
  static constexpr std::int64_t kSequence = 20;
  AttentionShape shape{.samples = 1, .sequence = kSequence, .heads = 2, .head_width = kWidth / 2};
  std::int64_t stride;
  FarBuffer<T> qkv, attended, attended_grad, qkv_grad;
  std::vector<float> log_sums = std::vector<float>(2 * kSequence), deltas = log_sums;

  explicit FarAttention(std::int64_t stride_)
      : stride(stride_),
        qkv(kSequence * stride),
        attended(kSequence * stride),
        attended_grad(kSequence * stride),
        qkv_grad(kSequence * stride) {
    for (std::int64_t row = 0; row < kSequence; ++row) {
      qkv.fill(row * stride, 3 * kWidth, static_cast<std::uint64_t>(1 + row));
      attended_grad.fill(row * stride, kWidth, static_cast<std::uint64_t>(100 + row));
    }
  }

  void run() {
    const auto part = [&](const FarBuffer<T>& of, std::int64_t i) {
      return HeadRows<T>{of.data() + i * kWidth, stride};
    };
    const auto read = [&](const FarBuffer<T>& of, std::int64_t i) {
      return HeadRows<const T>{of.data() + i * kWidth, stride};
    };
    attention_forward<T>({.shape = shape,
                          .queries = read(qkv, 0),
                          .keys = read(qkv, 1),
                          .values = read(qkv, 2),
                          .attended = part(attended, 0),
                          .log_sums = log_sums.data()},
                         nullptr);
    attention_backward<T>({.shape = shape,
                           .queries = read(qkv, 0),
                           .keys = read(qkv, 1),
                           .values = read(qkv, 2),
                           .attended = read(attended, 0),
                           .attended_grad = read(attended_grad, 0),
                           .log_sums = log_sums.data(),
                           .query_grad = part(qkv_grad, 0),
                           .key_grad = part(qkv_grad, 1),
                           .value_grad = part(qkv_grad, 2),
                           .deltas = deltas.data()},
                          nullptr);
  }
};

template <class T>
bool equal_rows(const FarBuffer<T>& far, const FarAttention<T>& of_far, const FarBuffer<T>& near,
                const FarAttention<T>& of_near) {
  for (std::int64_t row = 0; row < FarAttention<T>::kSequence; ++row) {
    const T* a = far.data() + row * of_far.stride;
    const T* b = near.data() + row * of_near.stride;
    if (std::memcmp(a, b, static_cast<std::size_t>(kWidth) * sizeof(T)) != 0) return false;
  }
  return true;
}

template <class T>
void check_attention() {
  FarAttention<T> near(3 * kWidth), far(kFarStride);
  near.run();
  far.run();
  CHECK(near.log_sums == far.log_sums);
  CHECK(near.log_sums[0] != 0);
  CHECK(equal_rows(far.attended, far, near.attended, near));
  CHECK(equal_rows(far.qkv_grad, far, near.qkv_grad, near));
}

}  // namespace

TEST_CASE("rows behind 2^32 numbers become what the first ones become: norms") {
  const EndsOnly ends;
  const FarBuffer<BFloat16> input(kRows * kWidth, 1), added(kRows * kWidth, 2), sum(kRows * kWidth);
  const FarBuffer<BFloat16> output(kRows * kWidth);
  const DeviceBuffer<BFloat16> weight(random_numbers(kWidth, 3));
  const FarBuffer<float> mean(kRows), inverse(kRows);
  norm_forward<BFloat16>({.input = input.data(),
                          .added = added.data(),
                          .sum = sum.data(),
                          .weight = weight.data(),
                          .output = output.data(),
                          .mean = mean.data(),
                          .inverse = inverse.data(),
                          .rows = kRows,
                          .width = kWidth},
                         nullptr);
  CHECK(sum.has_equal_ends(kEnd));
  CHECK(output.has_equal_ends(kEnd));
  CHECK(inverse.has_equal_ends(8));
}

TEST_CASE("rows behind 2^32 numbers become what the first ones become: embedding, activation") {
  const EndsOnly ends;
  const FarBuffer<BFloat16> inner(kRows * kWidth, 1), activated(kRows * kWidth), gradient(kRows * kWidth, 2);
  activate<BFloat16>({inner.data(), activated.data(), kRows, kWidth}, nullptr);
  activation_grad<BFloat16>({inner.data(), gradient.data(), kRows, kWidth}, nullptr);
  CHECK(activated.has_equal_ends(kEnd));
  CHECK(gradient.has_equal_ends(kEnd));
  const FarBuffer<std::int32_t> ids(kRows), kept(kRows);  // all 0: the first row of the table
  const FarBuffer<BFloat16> rows(kRows * kWidth);
  const DeviceBuffer<BFloat16> table(random_numbers(kWidth, 3));
  embedding_forward<BFloat16>({.ids = ids.data(),
                               .kept = kept.data(),
                               .table = table.data(),
                               .output = rows.data(),
                               .tokens = kRows,
                               .sequence = kRows,
                               .width = kWidth},
                              nullptr);
  CHECK(rows.has_equal_ends(kEnd));
}

TEST_CASE("numbers behind the 2^32th are added, copied and converted as the first ones are") {
  const EndsOnly ends;
  const std::int64_t count = kRows * kWidth;
  const FarBuffer<BFloat16> sum(count, 1), term(count, 2), copy(count), rounded(count);
  const FarBuffer<float> wide(count, 3);
  add(sum.data(), term.data(), count, nullptr);
  CHECK(sum.has_equal_ends(kEnd));
  copy_bytes(copy.data(), sum.data(), 2 * count, nullptr);
  CHECK(copy.has_equal_ends(kEnd));
  convert(rounded.data(), wide.data(), count, nullptr);
  CHECK(rounded.has_equal_ends(kEnd));
  add_rounded(wide.data(), term.data(), count, nullptr);
  CHECK(wide.has_equal_ends(kEnd));
  clear(copy.data(), 2 * count, nullptr);
  CHECK_FALSE(copy.has_equal_ends(kEnd));
}

TEST_CASE("softmax takes more rows than a grid has down, and more logits than 32 bits count") {
  const EndsOnly ends;
  constexpr std::int64_t kTokens = 65600;
  constexpr std::int64_t kVocabulary = 65536;
  const FarBuffer<std::int32_t> targets(kTokens);  // all 0
  const FarBuffer<std::byte> scratch(cross_entropy_scratch_bytes(kTokens));
  FarBuffer<BFloat16> logits(kTokens * kVocabulary);
  for (const std::int64_t row : {std::int64_t{0}, kTokens - 1}) logits.fill(row * kVocabulary, kVocabulary, 5);
  double loss = 0;
  cross_entropy<BFloat16>({.logits = logits.data(),
                           .targets = targets.data(),
                           .rows = kTokens,
                           .vocabulary = kVocabulary,
                           .loss = &loss,
                           .scratch = scratch.data()},
                          nullptr);
  const auto row = static_cast<std::size_t>(kVocabulary) * sizeof(BFloat16);
  CHECK(std::memcmp(logits.data(), logits.data() + (kTokens - 1) * kVocabulary, row) == 0);
  CHECK(to_float(logits.data()[0]) < -0.5F);  // the target's
  CHECK(loss > 0);
}

TEST_CASE("softmax by columns reaches the last rows of a vocabulary that 32 bits do not") {
  const EndsOnly ends;
  constexpr std::int64_t kTokens = std::int64_t{1} << 19;
  constexpr std::int64_t kVocabulary = 8208;
  const FarBuffer<std::int32_t> targets(kTokens);
  const FarBuffer<std::byte> scratch(cross_entropy_scratch_bytes(kTokens));
  FarBuffer<BFloat16> logits(kTokens * kVocabulary);
  for (const std::int64_t token : {std::int64_t{0}, kTokens - 1}) {  // the last word is by far the likeliest
    logits.data()[(kVocabulary - 1) * kTokens + token] = to_bfloat16(30.0F);
  }
  cross_entropy<BFloat16>({.logits = logits.data(),
                           .by_columns = true,
                           .targets = targets.data(),
                           .rows = kTokens,
                           .vocabulary = kVocabulary,
                           .scratch = scratch.data()},
                          nullptr);
  for (const std::int64_t token : {std::int64_t{0}, kTokens - 1}) {
    CHECK(to_float(logits.data()[(kVocabulary - 1) * kTokens + token]) > 0.9F);
    CHECK(to_float(logits.data()[token]) < -0.9F);
  }
}

TEST_CASE("pixels behind 2^32 numbers become what the first ones become") {
  const EndsOnly ends;
  constexpr std::int64_t kImages = kMany / kEnd + 4;
  const std::int64_t count = kImages * kEnd;
  const ImageWindow window{kImages, 8, 8, 8, 4, 4, 2, 2, 2, 0};
  const FarBuffer<BFloat16> images(count, 1), patches(count), back(count), means(count / 4), mean_grads(count);
  lay_out_patches(window, images.data(), patches.data(), nullptr);
  CHECK(patches.has_equal_ends(kEnd));
  gather_patches(window, patches.data(), back.data(), nullptr);
  CHECK(back.has_equal_ends(kEnd));
  average_pool(window, images.data(), means.data(), nullptr);
  CHECK(means.has_equal_ends(kEnd / 4));
  average_pool_grad(window, means.data(), mean_grads.data(), nullptr);
  CHECK(mean_grads.has_equal_ends(kEnd));
}

TEST_CASE("attention reaches rows that are as far apart as 32 bits do not count") {
  check_attention<float>();
  check_attention<BFloat16>();
}

TEST_SUITE_END();
