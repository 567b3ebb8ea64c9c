#include "trainer/backends/backends.hpp"

#include <array>
#include <vector>

#include "models/ground/error.hpp"
#include "trainer/backends/cpu_backend.hpp"
#include "trainer/backends/paced_backend.hpp"
#ifdef PLUMB_HAS_CUDA
#include "trainer/cuda/cuda_backend.hpp"
#include "trainer/cuda/cuda_stage.hpp"
#endif

namespace plumb {
namespace {

constexpr std::array kBackends{
    Backend{.name = "cpu",
            .summary = "this machine's processors, one thread per device",
            .make_stage = make_cpu_stage,
            .add = add_on_cpu,
            .scale = scale_on_cpu,
            .make_streams = make_cpu_streams,
            .frozen = true,
            .teacher = true},
    Backend{.name = "paced",
            .summary = "no arithmetic: actions and messages take the times of given costs",
            .make_stage = make_paced_stage,
            .add = add_nothing,
            .scale = scale_nothing,
            .bfloat16 = true,
            .frozen = true,
            .teacher = true,
            .paced = true},
#ifdef PLUMB_HAS_CUDA
    Backend{"cuda", "GPUs, whole or cut into virtual devices", make_cuda_stage, add_on_cpu, scale_on_cpu,
            make_cuda_streams, cuda_scratch_bytes, true, true, true},
#endif
};

}  // namespace

std::span<const Backend> backends() { return kBackends; }

const Backend& backend(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Backend& known : kBackends) {
    if (known.name == name) return known;
    names.push_back(known.name);
  }
  throw_unknown("back end", name, names);
}

}  // namespace plumb
