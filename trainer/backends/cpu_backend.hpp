#pragma once

#include <memory>
#include <span>

#include "trainer/stages/backend.hpp"

namespace plumb {

/// Computes the layers of a stage on the calling thread.
std::unique_ptr<StageBackend> make_cpu_stage(NumberType type, const StageSpec& spec);

/// `sum += term` on the calling thread.
void add_on_cpu(NumberType type, std::span<std::byte> sum, std::span<const std::byte> term);

/// Multiplies every number by `factor`, on the calling thread.
void scale_on_cpu(NumberType type, std::span<std::byte> numbers, double factor);

/// One thread per stream.
std::unique_ptr<StreamMachine> make_cpu_streams(const StreamOptions& options);

}  // namespace plumb
