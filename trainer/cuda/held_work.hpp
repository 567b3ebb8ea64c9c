#pragma once

namespace plumb::cuda {

/// What a piece of work puts on its stream.
enum class Held : unsigned char { kCall, kFewKernels, kPass, kHostWaits };

/// What has been asked for while the gates are closed. A stream takes about a thousand launches; the host would wait
/// for room for one more, and the gate for the host.
class HeldWork {
 public:
  void close() { launches_ = 0; }
  void open() { launches_ = -1; }
  /// Returns whether the gates must be open for one more.
  bool must_open(Held work) {
    if (launches_ < 0) return false;
    launches_ += work == Held::kFewKernels ? kFew : 1;
    return work == Held::kPass || work == Held::kHostWaits || launches_ >= kMost;
  }

 private:
  static constexpr int kMost = 500;
  static constexpr int kFew = 8;

  int launches_ = -1;  ///< negative: the gates are open
};

}  // namespace plumb::cuda
