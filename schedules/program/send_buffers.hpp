#pragma once

#include <cstdint>

namespace plumb {

/// How many messages of a channel hold a send buffer at once, and what was moved so that the program runs to its end
/// where a message travels only once its receive is posted (rendezvous). It then does so in every transfer mode.
struct SendBuffers {
  std::int32_t asked = 0;           ///< `LowerOptions::send_buffers`; 0: there are no messages
  std::int32_t used = 0;            ///< by the channel that uses most
  std::int64_t waits_moved = 0;     ///< waits for a send, to a later place of the sender's lane
  std::int64_t receives_moved = 0;  ///< receives, to an earlier place of the receiver's lane

  bool overruled() const { return used > asked || waits_moved != 0 || receives_moved != 0; }

  friend bool operator==(const SendBuffers&, const SendBuffers&) = default;
};

}  // namespace plumb
