#pragma once

#include <string>
#include <vector>

#include "models/ground/text_file.hpp"
#include "sim/traces/readers/gzip.hpp"
#include "sim/traces/readers/trace_files.hpp"
#include "tests/support/source_directory.hpp"

namespace plumb::testing {

/// An event of a Kineto trace, begin and end in microseconds.
struct TraceEvent {
  std::string name;
  std::string category;
  int begin = 0;
  int end = 0;
  std::string arguments = {};  ///< members of `args`
  int thread = 2;
  int process = 1;
};

/// The events as the text of `traceEvents`' elements.
inline std::string events_text(const std::vector<TraceEvent>& events) {
  std::string text;
  for (const TraceEvent& event : events) {
    text += std::string(text.empty() ? "" : ",") + R"({"ph": "X", "cat": ")" + event.category + R"(", "name": ")" +
            event.name + R"(", "pid": )" + std::to_string(event.process) + R"(, "tid": )" +
            std::to_string(event.thread) + R"(, "ts": )" + std::to_string(event.begin) + R"(, "dur": )" +
            std::to_string(event.end - event.begin) + R"(, "args": {)" + event.arguments + "}}";
  }
  return text;
}

/// The trace of a rank of a job of `world` ranks.
inline TraceFile trace_of(int rank, int world, const std::vector<TraceEvent>& events, std::int64_t base_ns = 0) {
  return {"rank" + std::to_string(rank),
          R"({"distributedInfo": {"rank": )" + std::to_string(rank) + R"(, "world_size": )" + std::to_string(world) +
              R"(, "backend": "gloo"}, "baseTimeNanoseconds": )" + std::to_string(base_ns) + R"(, "traceEvents": [)" +
              events_text(events) + "]}"};
}

/// The real traces of a folder of `data/`.
inline std::vector<TraceFile> real_run(const std::string& folder, std::size_t ranks = 4) {
  std::vector<TraceFile> files;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string name = "rank" + std::to_string(rank);
    files.push_back({name, read_text_file(in_source("tests/sim/traces/data/" + folder + "/" + name + ".json.gz"))});
  }
  return files;
}

inline std::string unpacked(const TraceFile& file) { return gunzip(file.bytes, file.name, 1U << 30U); }

}  // namespace plumb::testing
