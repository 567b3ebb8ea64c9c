#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/gpu/probe_parts.hpp"
#include "tools/gpu/probe_questions.hpp"
#include "trainer/cuda/kernels/probes.hpp"
#include "trainer/cuda/lt_products.hpp"

namespace plumb::cuda {
namespace {

using Answer = nlohmann::ordered_json;

using kernels::Epilogue;
using kernels::MatrixProduct;
using kernels::NumberKind;

constexpr std::int64_t kWorkspace = std::int64_t{32} << 20;

/// Numbers of both signs between 1/8 and 1.5: equal ones would hide in what order they are added, and are multiplied
/// faster.
void fill_with_numbers(const DeviceArray& array, std::int64_t count, std::uint32_t seed) {
  std::vector<std::uint16_t> numbers(static_cast<std::size_t>(count));
  std::uint32_t state = seed;
  for (std::uint16_t& number : numbers) {
    state = state * 1664525U + 1013904223U;
    number = static_cast<std::uint16_t>((state >> 31U << 15U) | (0x3e00U + (state >> 8U) % 0x1c0U));
  }
  PLUMB_CUDA_CALL(cudaMemcpy(array.data(), numbers.data(), numbers.size() * 2, cudaMemcpyHostToDevice));
}

/// A square product of bf16 numbers.
struct SquareProduct {
  explicit SquareProduct(std::int64_t size)
      : n(size), a(2 * n * n), b(2 * n * n), c(4 * n * n), bias(4 * n), inner(2 * n * n) {
    fill_with_numbers(a, n * n, 1);
    fill_with_numbers(b, n * n, 2);
    fill_with_numbers(bias, n, 3);
    fill_with_numbers(inner, n * n, 4);
  }

  MatrixProduct with(Epilogue epilogue, bool accumulates) const {
    MatrixProduct product;
    product.a = {a.data(), n, false};
    product.b = {b.data(), n, false};
    product.c = c.data();
    product.c_stride = product.rows = product.columns = product.depth = product.inner_stride = n;
    product.operands = NumberKind::kBFloat16;
    product.result = accumulates ? NumberKind::kFloat32 : NumberKind::kBFloat16;
    product.accumulates = accumulates;
    product.epilogue = epilogue;
    if (epilogue == Epilogue::kBias || epilogue == Epilogue::kGelu) product.bias = bias.data();
    if (epilogue == Epilogue::kGelu || epilogue == Epilogue::kGeluGrad) product.inner = inner.data();
    return product;
  }

  std::int64_t n;
  DeviceArray a;
  DeviceArray b;
  DeviceArray c;
  DeviceArray bias;
  DeviceArray inner;
};

LtPlace place_of(int sms, const DeviceArray& workspace) {
  LtPlace place;
  place.sms = sms;
  place.workspace = static_cast<std::byte*>(workspace.data());
  place.workspace_bytes = kWorkspace;
  return place;
}

double product_tflops(cudaStream_t stream, int target, const SquareProduct& square) {
  constexpr int kTimes = 20;
  const DeviceArray workspace(kWorkspace);
  LtProducts products(place_of(target, workspace));
  const MatrixProduct product = square.with(Epilogue::kNone, false);
  products.run(product, stream);
  StreamTimer timer(stream);
  timer.start();
  for (int i = 0; i < kTimes; ++i) products.run(product, stream);
  const double n = static_cast<double>(square.n);
  return 2 * n * n * n * kTimes / timer.stop_ms() / 1e9;
}

/// 5. Matrix products on every part, by what they are told of its size.
Answer product_rates() {
  const SquareProduct square(4096);
  Answer answer = Answer::object();
  for (const int sms : {8, 16}) {
    const CutGpu gpu(8, sms, sms == 8 ? PartitionMode::kAccuracy : PartitionMode::kThroughput);
    for (const int target : {0, 8, 16}) {
      Answer rates = Answer::array();
      for (const cudaStream_t stream : gpu.compute) rates.push_back(product_tflops(stream, target, square));
      answer[std::to_string(gpu.plan.split.sms) + " SMs, target " + std::to_string(target)] = rates;
    }
  }
  return answer;
}

/// 6. A plain copy on a part whose multiprocessors are all busy: does it wait for them?
Answer plain_copy() {
  constexpr std::int64_t kBytes = std::int64_t{64} << 20;
  constexpr std::int64_t kSpin = 20'000'000;
  const CutGpu gpu(8, 8, PartitionMode::kAccuracy);
  const DeviceArray from(kBytes);
  const DeviceArray to(kBytes);
  const cudaStream_t other = gpu.parts->make_stream(0, 0);
  StreamTimer timer(other);
  Answer answer = Answer::object();
  for (const bool busy : {false, true}) {
    if (busy) kernels::spin(kSpin, 32 * gpu.parts->sms(0), gpu.compute[0]);
    timer.start();
    PLUMB_CUDA_CALL(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, other));
    answer[busy ? "busy_ms" : "idle_ms"] = timer.stop_ms();
    PLUMB_CUDA_CALL(cudaDeviceSynchronize());
  }
  answer["spin_ms"] = static_cast<double>(kSpin) / 1e6;
  return answer;
}

std::uint64_t hash_of(const DeviceArray& array, std::int64_t bytes) {
  std::vector<unsigned char> host(static_cast<std::size_t>(bytes));
  PLUMB_CUDA_CALL(cudaMemcpy(host.data(), array.data(), host.size(), cudaMemcpyDeviceToHost));
  std::uint64_t hash = 1469598103934665603ULL;
  for (std::size_t i = 0; i + 8 <= host.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, host.data() + i, 8);
    hash = (hash ^ word) * 1099511628211ULL;
  }
  return hash;
}

/// 11. The same product again and again while the other parts work: are its bits the same?
Answer repeated_products() {
  constexpr int kTimes = 50;
  const CutGpu gpu(8, 8, PartitionMode::kAccuracy);
  const SquareProduct square(1024);
  const SquareProduct load(2048);
  const DeviceArray workspace(kWorkspace);
  const DeviceArray load_workspace(kWorkspace);
  LtProducts products(place_of(8, workspace));
  LtProducts others(place_of(8, load_workspace));
  const MatrixProduct load_product = load.with(Epilogue::kNone, false);
  Answer answer = Answer::object();
  const auto repeat = [&](const char* name, Epilogue epilogue, bool accumulates) {
    const MatrixProduct product = square.with(epilogue, accumulates);
    if (!products.fuses(product)) {
      answer[name] = "not in one go";
      return;
    }
    int different = 0;
    std::uint64_t first = 0;
    for (int i = 0; i < kTimes; ++i) {
      PLUMB_CUDA_CALL(cudaMemset(square.c.data(), 0, static_cast<std::size_t>(4 * square.n * square.n)));
      PLUMB_CUDA_CALL(cudaDeviceSynchronize());
      others.run(load_product, gpu.compute[1]);
      products.run(product, gpu.compute[0]);
      PLUMB_CUDA_CALL(cudaDeviceSynchronize());
      const std::uint64_t hash = hash_of(square.c, (accumulates ? 4 : 2) * square.n * square.n);
      if (i == 0) first = hash;
      different += hash == first ? 0 : 1;
    }
    answer[name] = {{"times", kTimes}, {"different", different}};
  };
  repeat("plain", Epilogue::kNone, false);
  repeat("accumulated in float", Epilogue::kNone, true);
  repeat("bias", Epilogue::kBias, false);
  repeat("gelu", Epilogue::kGelu, false);
  repeat("gelu's gradient", Epilogue::kGeluGrad, false);
  return answer;
}

}  // namespace

std::vector<Question> rate_questions() {
  return {{5, "matrix products by part and target (TFLOP/s)", [] { return product_rates().dump(); }},
          {6, "where a plain copy runs", [] { return plain_copy().dump(); }},
          {11, "bits of repeated products under load", [] { return repeated_products().dump(); }}};
}

}  // namespace plumb::cuda
