#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/action.hpp"

namespace plumb {

/// A pass of a pattern: which chunk, and which microbatch of it.
struct PhasePass {
  Op op{};
  std::int32_t chunk = -1;  ///< -1: that of `stream`, or for W any
  std::string stream{};
  bool newest = false;     ///< the newest microbatch in place of the oldest
  bool with_next = false;  ///< overlapped with the next pass
};

/// `count` turns of a pattern.
struct PhaseLine {
  std::string where;  ///< "file:line"
  std::string count;
  std::vector<PhasePass> passes;
};

/// A part of a stream of chunks: a chunk `count` times, or each of all of them, up or down.
struct StreamPart {
  enum class Kind : std::uint8_t { kChunk, kUp, kDown };
  Kind kind = Kind::kChunk;
  std::int32_t chunk = 0;
  std::string count;
};

/// `let NAME = EXPRESSION`, `need EXPRESSION`, `stream NAME = PARTS`.
struct PhaseName {
  std::string where;
  std::string name;  ///< empty: a condition
  std::string value;
};
struct PhaseStream {
  std::string where;
  std::string name;
  std::vector<StreamPart> parts;
};

/// Rules as they were written.
struct PhaseRules {
  std::int32_t chunks = 0;  ///< 0: as asked for, or one
  bool in_v = false;        ///< stages go down the devices and come back
  std::vector<PhaseName> names;
  std::vector<PhaseStream> streams;
  std::vector<PhaseLine> lines;
};

/// Throws `Error` with file and line.
PhaseRules phase_rules_from_text(std::string_view text, std::string_view file_name);

}  // namespace plumb
