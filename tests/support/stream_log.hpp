#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/streams/stream_machine.hpp"

namespace plumb {

/// One call to a stream machine.
struct StreamCall {
  enum class Kind : std::uint8_t {
    kStream,       ///< a stream of `device` was made
    kAllocate,     ///< memory of `device`
    kFree,         ///< it is gone
    kWork,         ///< of a stream, on the memory of its device
    kCopy,         ///< likewise, or between it and the host
    kSend,         ///< of a stream, between memories
    kRecord,       ///< of `event`
    kWait,         ///< for `event`
    kBegin,        ///< a block begins
    kEnd,          ///< a block ends
    kInstr,        ///< what follows on the stream is work of `instr`
    kSynchronize,  ///< the host has waited for everything
    kSeen,         ///< the host has waited for `event`
  };

  Kind kind{};
  StreamId stream{};
  EventId event{};
  DeviceId device{};
  std::uint32_t instr = 0;
  std::string name = {};
  std::vector<Access> accesses = {};
};

using StreamLog = std::vector<StreamCall>;

/// "launch 0F3 on stream 2", for messages.
std::string text_of(const StreamCall& call);

}  // namespace plumb
