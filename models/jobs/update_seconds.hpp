#pragma once

namespace plumb {

/// Seconds that one update of one stage takes on a device.
struct UpdateSeconds {
  double reduce_s = 0;     ///< gradients between data ranks (what does not overlap the last backward)
  double optimizer_s = 0;  ///< Adam over what the device holds
  double gather_s = 0;     ///< ZeRO: new weights to all data ranks

  double all() const { return reduce_s + optimizer_s + gather_s; }
};

}  // namespace plumb
