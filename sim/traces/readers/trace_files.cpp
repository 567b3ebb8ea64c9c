#include "sim/traces/readers/trace_files.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/reader_limits.hpp"
#include "sim/traces/readers/complete_steps.hpp"
#include "sim/traces/readers/counted_work.hpp"
#include "sim/traces/readers/gzip.hpp"
#include "sim/traces/readers/kineto.hpp"
#include "sim/traces/readers/megatron_timers.hpp"
#include "sim/traces/readers/nsys.hpp"
#include "sim/traces/readers/pp_dumps.hpp"
#include "sim/traces/readers/process_ranks.hpp"
#include "sim/traces/readers/runtime_ranges.hpp"
#include "sim/traces/readers/whole_steps.hpp"

namespace plumb {
namespace {

/// The processes that ran a part of a pipeline; others (loaders of data, launchers) are left out.
void add_processes(const TraceFile& file, std::vector<RankRun>& runs) {
  bool any = false;
  for (const RankTrace& trace : read_nsys(file.bytes, file.name)) {
    if (!runs_pipeline(trace)) continue;
    runs.push_back(rank_run(trace));
    any = true;
  }
  if (any) return;
  throw Error(file.name +
              ": has no NVTX ranges of a pipeline; expected 'PP:<action>' of PyTorch under emit_nvtx, the operators of "
              "its classes Schedule1F1B and ScheduleGPipe, or Megatron-LM's (--nvtx-ranges)");
}

void check_ranks(std::vector<RankRun>& runs) {
  if (runs.empty()) throw Error("a traced run needs the trace of every rank, found none");
  std::ranges::stable_sort(runs, {}, &RankRun::rank);
  for (std::size_t at = 1; at < runs.size(); ++at) {
    const RankRun& run = runs[at];
    if (run.group != runs.front().group) {
      throw Error(run.file + ": is of the pipeline of ranks " + run.group + ", but " + runs.front().file +
                  " of that of ranks " + runs.front().group +
                  "; expected the traces of one pipeline, without its replicas");
    }
    if (run.rank == runs[at - 1].rank) {
      throw Error(run.file + ": is of rank " + std::to_string(run.rank) + ", and so is " + runs[at - 1].file);
    }
    if (run.world_size != runs.front().world_size) {
      throw Error(run.file + ": is of a job of " + std::to_string(run.world_size) + " ranks, but " + runs.front().file +
                  " of one of " + std::to_string(runs.front().world_size));
    }
    if (run.numbering != runs.front().numbering || run.own_zeros != runs.front().own_zeros) {
      throw Error(run.file + ": is of another runtime than " + runs.front().file + ", expected the ranks of one run");
    }
  }
}

/// Throws `Error` for what people put traces into.
void refuse_package(const TraceFile& file) {
  struct Mark {
    std::size_t at;
    std::string_view bytes;
    std::string_view what;
  };
  constexpr std::array kMarks{Mark{0, "PK\x03\x04", "a zip archive"}, Mark{257, "ustar", "a tar archive"},
                              Mark{0, "\x28\xb5\x2f\xfd", "packed by zstd"}, Mark{0, "\3757zXZ", "packed by xz"},
                              Mark{0, "\x1f\x8b", "packed by gzip twice"}};
  if (file.bytes.empty()) throw Error(file.name + ": is empty, expected the trace of a rank");
  for (const Mark& mark : kMarks) {
    if (std::string_view(file.bytes).substr(std::min(mark.at, file.bytes.size())).starts_with(mark.bytes)) {
      throw Error(file.name + ": is " + std::string(mark.what) +
                  ", expected the traces themselves, each packed by gzip at most");
    }
  }
}

/// Refuses a text that would need much more memory than its length says: values are separated by commas or brackets.
void check_values(const TraceFile& file) {
  const std::string_view text = file.bytes;
  if (text.size() <= kTraceValues.most) return;
  std::uint64_t values = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (in_text && letter == '\\') {
      ++at;
    } else if (letter == '"') {
      in_text = !in_text;
    } else if (!in_text && (letter == ',' || letter == ':' || letter == '[' || letter == '{')) {
      ++values;
    }
  }
  if (values <= kTraceValues.most) return;
  throw Error(file.name + ": has " + std::to_string(values) + " keys and values, expected a trace of at most " +
              std::to_string(kTraceValues.most));
}

void check_step_count(const std::vector<RankRun>& runs) {
  for (const RankRun& run : runs) {
    if (static_cast<std::uint64_t>(std::max(run.steps, 0)) <= kTraceSteps.most) continue;
    throw Error(run.file + ": has " + std::to_string(run.steps) + " steps, expected at most " +
                std::to_string(kTraceSteps.most) + " of one run");
  }
}

}  // namespace

bool is_traced_run(std::string_view bytes) {
  constexpr std::size_t kHead = 64;
  if (bytes.substr(0, kHead).find("\"plumbline-") != std::string_view::npos) return false;
  return is_gzip(bytes) || is_sqlite(bytes) || is_kineto(bytes) || is_pp_dump(bytes) || is_timer_log(bytes);
}

void unpack(std::vector<TraceFile>& files) {
  std::uint64_t bytes = 0;
  for (TraceFile& file : files) {
    if (is_gzip(file.bytes)) file.bytes = gunzip(file.bytes, file.name, kUnpackedTrace.most);
    bytes += file.bytes.size();
    if (bytes > kUnpackedRun.most) {
      throw Error(file.name + ": with the traces before it " + std::to_string(bytes) +
                  " bytes when unpacked, expected at most " + std::to_string(kUnpackedRun.most) + " of one run");
    }
    refuse_package(file);
  }
}

std::vector<RankRun> read_rank_runs(std::vector<TraceFile> files) {
  std::vector<RankRun> runs;
  std::vector<DumpText> dumps;
  for (TraceFile& file : files) {
    if (!is_sqlite(file.bytes)) check_values(file);
    if (is_sqlite(file.bytes)) {
      add_processes(file, runs);
    } else if (!is_kineto(file.bytes) && is_pp_dump(file.bytes)) {
      dumps.push_back({file.bytes, file.name});
    } else {
      for (const RankTrace& trace : read_kineto(std::move(file.bytes), file.name)) runs.push_back(rank_run(trace));
    }
  }
  if (!dumps.empty()) std::ranges::move(read_pp_dumps(dumps), std::back_inserter(runs));
  rank_processes(runs);
  check_ranks(runs);
  keep_whole_steps(runs);
  check_complete_steps(runs);
  number_microbatches(runs);
  check_step_count(runs);
  return runs;
}

}  // namespace plumb
