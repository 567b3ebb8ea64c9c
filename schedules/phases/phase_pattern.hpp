#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/action.hpp"

namespace plumb {

/// An action of a pattern: what, of which chunk and copy of the model. All but `op` and the flags are expressions.
struct PhasePass {
  Op op{};
  std::string count{};     ///< how often in a row; empty: once
  std::string copy{};      ///< of the model; empty: the first
  std::string chunk{};     ///< empty: that of `stream`, or for W any
  std::string stream{};    ///< a name
  std::string where{};     ///< of LOAD and EVICT: "host" or a device
  bool newest = false;     ///< the newest microbatch in place of the oldest
  bool with_next = false;  ///< overlapped with the next pass
};

/// Reads a pattern such as "2*F0 (F0;B1) [r]:W[c-1]". Throws `Error`, beginning with `where`.
std::vector<PhasePass> phase_pattern(std::string_view text, const std::string& where);

}  // namespace plumb
