#include "trainer/backends/paced_backend.hpp"

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

}  // namespace

std::unique_ptr<StageBackend> make_paced_stage(NumberType, const StageSpec& spec) {
  return std::make_unique<PacedStage>(spec);
}

void add_nothing(NumberType, std::span<std::byte>, std::span<const std::byte>) {}

void scale_nothing(NumberType, std::span<std::byte>, double) {}

}  // namespace plumb
