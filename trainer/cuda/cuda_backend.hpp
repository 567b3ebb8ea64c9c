#pragma once

#include <memory>

#include "trainer/streams/stream_machine.hpp"

namespace plumb {

/// Returns the GPUs of this machine. Throws `Error` "no CUDA device (...)" where there is none.
std::unique_ptr<StreamMachine> make_cuda_streams(const StreamOptions& options);

}  // namespace plumb
