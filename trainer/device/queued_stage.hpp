#pragma once

#include <memory>

#include "trainer/streams/stream_machine.hpp"

namespace plumb {

class DeviceQueue;

/// A stage's arithmetic, issued now and done when the device's compute stream comes to it. Functions that return
/// numbers (`products`, `squared_norms`) wait for them.
class QueuedStage : public StageBackend {
 public:
  QueuedStage(DeviceQueue& queue, NumberType type, const StageSpec& spec, std::shared_ptr<StageBackend> stage)
      : queue_(queue), type_(type), spec_(spec), stage_(std::move(stage)) {}

  void run(Op op, const PassArguments& arguments) override;
  void initialize(std::uint64_t seed, const HolderBlocks& blocks) override;
  void update(const UpdateStep& step, const HolderBlocks& blocks) override;
  void copy(std::byte* to, const std::byte* from) override;
  void apply(const Elementwise& operation, std::initializer_list<const std::byte*> blocks) override;
  std::vector<double> products(const std::byte* a, const std::byte* b) override;
  void scale(std::byte* block, std::span<const double> factors) override;
  std::vector<double> squared_norms(const HolderBlocks& blocks) override;

 private:
  Access read(const std::byte* block, std::int64_t bytes) const;
  Access write(const std::byte* block, std::int64_t bytes) const;
  std::vector<Access> accesses(Op op, const PassArguments& arguments) const;
  std::vector<Access> accesses(const HolderBlocks& blocks) const;

  DeviceQueue& queue_;
  NumberType type_;
  StageSpec spec_;
  std::shared_ptr<StageBackend> stage_;
};

/// Returns the stage of `backend` on the compute stream of `queue`, which must outlive it.
std::unique_ptr<StageBackend> make_queued_stage(DeviceQueue& queue, const Backend& backend, NumberType type,
                                                StageSpec spec);

}  // namespace plumb
