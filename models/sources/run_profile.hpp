#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "models/sources/measured_messages.hpp"
#include "models/sources/profile.hpp"

namespace plumb {

class JsonValue;

/// Times of the four passes and of the update. `count` 0: the run did not have them.
struct MeasuredPasses {
  Measured f = {};
  Measured b = {};
  Measured i = {};
  Measured w = {};
  Measured u = {};

  friend bool operator==(const MeasuredPasses&, const MeasuredPasses&) = default;
};

/// What a real run tells about its costs (document: models/sources/COSTS.md). It knows no network: its stages are those
/// of the run, in the order of the data, and its messages are of one size.
struct RunProfile {
  std::string machine;                 ///< "traced by PyTorch, 4 ranks, gloo"
  std::string runtime;                 ///< whose order rules it followed, as in `--runtime`
  std::vector<MeasuredPasses> stages;  ///< passes of one microbatch, from the end of the wait to the end of the action
  MeasuredPasses inside;  ///< the part of an action in which no operator runs; it stays when a stage is cut
  MeasuredPasses host;    ///< from the end of what the lane did before to the action, when nothing was waited for
  std::vector<MeasuredMessages>
      messages;                    ///< messages of the run, and of others on the same machine; by ascending bytes
  std::int64_t message_bytes = 0;  ///< bytes of the messages that are to be predicted: those of the run
  double input_grad_share = 0;     ///< part of a backward that the run did not split which I would take; 0: not known

  friend bool operator==(const RunProfile&, const RunProfile&) = default;
};

/// Returns whether a stage's I did nothing (less than a twentieth of its W), so that its W was the whole backward.
bool skips_input_grad(const MeasuredPasses& stage);

/// Adds what another run or a ping-pong tells of messages of other sizes; what is known of a size already stays.
void add_message_sizes(RunProfile& profile, const std::vector<MeasuredMessages>& sizes);

/// Returns whether the document is of a traced run, and not one of `plumbline profile`.
bool is_run_profile(std::string_view text, std::string_view file_name);

/// Reads the document. Throws `Error` with line, column and path.
RunProfile run_profile_from_json(std::string_view text, std::string_view file_name);
/// Reads a document that is a value in another one.
RunProfile read_run_profile(const JsonValue& root);

/// Returns the document of `profile`.
std::string run_profile_to_json(const RunProfile& profile);

/// Costs that a traced run gives for another schedule of the same model.
struct RunCosts {
  StageCosts costs;
  std::vector<std::string> notes;  ///< what was assumed: how stages were cut, how a backward was split
};

/// Costs of `num_stages` stages. Where that is not the number of the run, the model is cut anew into equal parts of the
/// run's stages: the time of operators is shared, the time `inside` an action that is none stays with every action.
/// Where the run had no I and W, its B is split as `input_grad_share` says, else one to one; where it had no B, B is I
/// + W. A first stage whose I did nothing (`skips_input_grad`) is split as the other stages are on average.
/// Throws `Error` where it is not known what messages of `message_bytes` take.
RunCosts run_profile_costs(const RunProfile& profile, std::int32_t num_stages);

/// Returns the devices whose messages take the time of those of `message_bytes`, and slow each other down as they did.
Cluster run_profile_cluster(const RunProfile& profile, std::int32_t num_devices);

/// These stages compute no gradient of their input: their I takes no time, their W takes that of the whole backward.
/// (PyTorch's first stages: sim/SPECIFICATION.md, §4.10.)
void skip_input_grads(StageCosts& costs, std::span<const StageId> stages);

}  // namespace plumb
