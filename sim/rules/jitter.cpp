#include "sim/rules/jitter.hpp"

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

/// Finalizer of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

}  // namespace

Ticks jittered(Ticks duration, double jitter, std::uint64_t seed, InstrIndex instr) {
  if (jitter == 0.0) return duration;
  const std::uint64_t bits = mix(mix(seed + 0x9E3779B97F4A7C15ULL) + instr);
  std::int64_t sum = 0;
  for (unsigned lane = 0; lane < 64; lane += 16) sum += static_cast<std::int64_t>((bits >> lane) & 0xFFFFU);
  constexpr double kDeviation = 37837.2274;  // of the sum of four: 65536 / sqrt(3)
  const double z = static_cast<double>(sum - std::int64_t{2} * 65535) / kDeviation;
  const double change = jitter * z * static_cast<double>(duration);
  return std::max<Ticks>(0, duration + std::llround(change));
}

Ticks duration_of(const Program& program, InstrIndex instr, DeviceId device, std::uint64_t seed) {
  const Ticks duration = program.durations[program.instrs[instr].row];
  return program.device_specs.empty() ? duration
                                      : jittered(duration, program.device_specs[index(device)].jitter, seed, instr);
}

bool has_jitter(const Program& program) {
  return std::ranges::any_of(program.device_specs, [](const DeviceSpec& spec) { return spec.jitter != 0.0; });
}

}  // namespace plumb
