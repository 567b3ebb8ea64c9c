#include "trainer/backends/backends.hpp"

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "models/ground/error.hpp"
#include "trainer/backends/cpu_backend.hpp"
#include "trainer/stages/backend.hpp"

#ifdef PLUMB_HAS_CUDA
#include "trainer/cuda/cuda_backend.hpp"
#include "trainer/cuda/cuda_stage.hpp"
#endif

namespace plumb {
namespace {

class PacedStage : public StageBackend {
 public:
  explicit PacedStage(const StageSpec& spec) : parameters_(spec.layout->parameters.size()) {}

  void run(Op, const PassArguments&) override {}
  void initialize(std::uint64_t, const HolderBlocks&) override {}
  void update(const UpdateStep&, const HolderBlocks&) override {}
  void copy(std::byte*, const std::byte*) override {}
  void apply(const Elementwise&, std::initializer_list<const std::byte*>) override {}
  std::vector<double> products(const std::byte*, const std::byte*) override { return zeros(); }
  void scale(std::byte*, std::span<const double>) override {}
  std::vector<double> squared_norms(const HolderBlocks&) override { return zeros(); }

 private:
  std::vector<double> zeros() const { return std::vector<double>(parameters_, 0.0); }

  std::size_t parameters_;
};

/// Returns a stage without arithmetic: all memory is there, and nothing reads or writes it. Sums and norms are 0.
std::unique_ptr<StageBackend> make_paced_stage(NumberType, const StageSpec& spec) {
  return std::make_unique<PacedStage>(spec);
}

/// Leave the numbers as they are.
void add_nothing(NumberType, std::span<std::byte>, std::span<const std::byte>) {}

void scale_nothing(NumberType, std::span<std::byte>, double) {}

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
