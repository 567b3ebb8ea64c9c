#include "trainer/numbers/number_type.hpp"

#include <cstring>

#include "trainer/numbers/number.hpp"

namespace plumb {
namespace {

template <class To, class From, class Convert>
std::vector<std::byte> converted(std::span<const std::byte> bytes, Convert convert) {
  const std::size_t count = bytes.size() / sizeof(From);
  std::vector<std::byte> result(count * sizeof(To));
  for (std::size_t i = 0; i < count; ++i) {
    From from{};
    std::memcpy(&from, bytes.data() + i * sizeof(From), sizeof(From));
    const To to = convert(from);
    std::memcpy(result.data() + i * sizeof(To), &to, sizeof(To));
  }
  return result;
}

}  // namespace

std::string_view name_of(NumberType type) {
  switch (type) {
    case NumberType::kFloat64:
      return "float64";
    case NumberType::kBFloat16:
      return "bf16";
    default:
      return "float32";
  }
}

Precision precision_of(NumberType type, const OptimizerOptions& options) {
  if (type == NumberType::kFloat64) return precision_of<double>(options);
  const Precision single = precision_of<float>(options);
  if (type == NumberType::kFloat32) return single;
  return {2, 2, single.gradient_bytes, single.weight_bytes + single.optimizer_bytes};
}

std::int64_t host_number_bytes(NumberType type) { return type == NumberType::kFloat64 ? 8 : 4; }

std::vector<std::byte> rounded_to_bfloat16(std::span<const std::byte> floats) {
  return converted<kernels::BFloat16, float>(floats, [](float x) { return kernels::to_bfloat16(x); });
}

std::vector<std::byte> widened_from_bfloat16(std::span<const std::byte> numbers) {
  return converted<float, kernels::BFloat16>(numbers, [](kernels::BFloat16 x) { return kernels::to_float(x); });
}

}  // namespace plumb
