#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "schedules/program/program.hpp"
#include "trainer/numbers/gradient_clip.hpp"

namespace plumb {

struct TrainOptions;

/// What an update does with the gradients.
struct UpdateDecision {
  bool applies = true;  ///< false: some gradient is not finite; weights and optimizer state stay as they are
  double factor = 1;    ///< for the mean gradients: clips their norm

  friend bool operator==(const UpdateDecision&, const UpdateDecision&) = default;
};

/// Decides on the update of stage `own` by the squared norms of the stages' gradients (an empty entry: not known).
/// `gradient_scale` makes means of the sums.
UpdateDecision decide(const GradientClip& clip, double gradient_scale,
                      std::span<const std::vector<double>> squared_by_stage, std::size_t own);

/// Optimizer post-validation (Qi et al., arXiv 2401.10241, section 4), as a program says it: what the U and V of a
/// document know of the norms, and which forwards have to be run again when an update is taken back.
///
/// The norms travel along the edges between U and V: U knows those of the U that it waits for, directly or not, and of
/// those before it on the device; V what its U knows, and the V that it waits for. Between U and V stand only forwards.
class ValidationPlan {
 public:
  static constexpr std::uint32_t kNobody = 0xFFFFFFFFU;

  ValidationPlan() = default;
  /// Throws `Error` for a V that does not know the norms of all stages, and for what cannot be run again.
  ValidationPlan(const Program& program, const TrainOptions& options);

  bool any() const { return !windows_.empty(); }
  /// Returns, by stage, the holder whose norm a U or V knows, `kNobody` where it knows no norm.
  std::span<const std::uint32_t> known(InstrIndex at) const { return known_.at(at); }

  struct Window {
    InstrIndex update = 0;
    std::int32_t number = 0;           ///< number of the update, in the document
    std::vector<InstrIndex> forwards;  ///< between U and V, with the weights that U made
  };
  const Window& window(InstrIndex validation) const { return windows_.at(validation); }
  /// Returns the U of all holders, of one update.
  std::span<const InstrIndex> updates(std::int32_t number) const { return updates_.at(number); }
  /// Returns the messages to `device` that are made by forwards between U and V of this update.
  std::span<const std::uint32_t> messages_to(DeviceId device, std::int32_t number) const;
  /// Position after the last V of `number` on `device`.
  InstrIndex end_of_validation(DeviceId device, std::int32_t number) const;

 private:
  void find_windows(const Program& program);
  void find_known(const Program& program);
  void check_known(const Program& program) const;
  void find_messages(const Program& program);
  void check_window(const Program& program, InstrIndex validation, const Window& window) const;

  std::map<InstrIndex, std::vector<std::uint32_t>> known_;
  std::map<InstrIndex, Window> windows_;                     ///< by V
  std::map<std::int32_t, std::vector<InstrIndex>> updates_;  ///< by number
  std::map<std::pair<DeviceId, std::int32_t>, std::vector<std::uint32_t>> messages_;
  std::map<std::pair<DeviceId, std::int32_t>, InstrIndex> ends_;
};

/// What a holder publishes to all devices about its gradients when it updates.
struct GradientNorms {
  double scale = 1;             ///< makes means of the sums
  std::vector<double> squared;  ///< by parameter (trainer/numbers/gradient_clip.hpp)
};

/// The bytes for `Transport::publish`, and back.
std::vector<std::byte> to_bytes(const GradientNorms& norms);
GradientNorms norms_from(std::span<const std::byte> bytes);

}  // namespace plumb
