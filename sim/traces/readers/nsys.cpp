#include "sim/traces/readers/nsys.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// A serialized id of a process or thread: hardware and virtual machine, then 24 bits each of process and thread.
constexpr std::int64_t kThreadBits = 0xFFFFFF;
constexpr std::int64_t kMostNs = 4'000'000'000'000'000'000;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

/// A database in memory, which refers to the bytes that it was opened with.
class Export {
 public:
  Export(const std::string& bytes, std::string file_name) : file_(std::move(file_name)) {
    sqlite3* database = nullptr;
    const bool opened = sqlite3_open(":memory:", &database) == SQLITE_OK;
    database_.reset(database);
    if (!opened) throw Error("not enough memory to read an SQLite database");
    // The file may be anybody's: nothing that it defines is run.
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    // SQLite only reads what is deserialized read-only; its type is not const for reasons of age.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    check(sqlite3_deserialize(database, "main", data, size, size, SQLITE_DESERIALIZE_READONLY));
  }

  bool has_table(const char* name) const {
    bool found = false;
    each("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '" + std::string(name) + "'",
         [&](sqlite3_stmt*) { found = true; });
    return found;
  }

  template <class Visit>
  void each(const std::string& query, Visit visit) const {
    sqlite3_stmt* raw = nullptr;
    const int prepared = sqlite3_prepare_v2(database_.get(), query.c_str(), -1, &raw, nullptr);
    const Statement statement(raw);
    check(prepared);
    int answer = SQLITE_ROW;
    while ((answer = sqlite3_step(raw)) == SQLITE_ROW) visit(raw);
    if (answer != SQLITE_DONE) check(answer);
  }

  [[noreturn]] void fail(const std::string& what) const { throw Error(file_ + ": " + what); }

 private:
  void check(int answer) const {
    if (answer == SQLITE_OK) return;
    fail(std::string("cannot be read as what `nsys export --type sqlite` writes: ") + sqlite3_errmsg(database_.get()));
  }

  std::string file_;
  Database database_;
};

std::string text_of_column(sqlite3_stmt* row, int column) {
  const auto* text = sqlite3_column_text(row, column);
  return text == nullptr ? std::string{} : reinterpret_cast<const char*>(text);
}

/// PyTorch's `emit_nvtx` writes "aten::mm, seq = 12, sizes = [[..]]"; functions of the user's have such numbers, too.
bool is_operator(const std::string& name) {
  return name.starts_with("aten::") || name.starts_with("autograd::") || name.starts_with("c10d::") ||
         name.find(", seq = ") != std::string::npos;
}

class ExportReader {
 public:
  explicit ExportReader(const Export& database) : database_(database) {
    if (database.has_table("TARGET_INFO_SESSION_START_TIME")) {
      database.each("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1",
                    [&](sqlite3_stmt* row) { epoch_ns_ = bounded(sqlite3_column_int64(row, 0)); });
    }
  }

  std::map<std::int64_t, RankTrace> read() {
    if (!database_.has_table("NVTX_EVENTS")) {
      database_.fail(
          "has no table NVTX_EVENTS; expected a run that was profiled with `nsys profile --trace=nvtx,cuda`");
    }
    read_annotations();
    // What happened in processes that annotate nothing is not asked for.
    if (database_.has_table("CUPTI_ACTIVITY_KIND_RUNTIME")) {
      read_table(
          "SELECT start, end, globalTid, correlationId, 0, '' FROM CUPTI_ACTIVITY_KIND_RUNTIME "
          "WHERE globalTid IS NOT NULL AND correlationId IS NOT NULL",
          RangeKind::kLaunch);
    }
    if (database_.has_table("CUPTI_ACTIVITY_KIND_KERNEL")) {
      read_table(
          "SELECT k.start, k.end, k.globalPid, k.correlationId, k.streamId, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL AS "
          "k "
          "LEFT JOIN StringIds AS s ON s.id = k.shortName WHERE k.globalPid IS NOT NULL AND k.correlationId IS NOT "
          "NULL",
          RangeKind::kKernel);
    }
    // By default a captured graph is traced as one thing that ran, without its kernels.
    for (const char* table :
         {"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"}) {
      if (!database_.has_table(table)) continue;
      read_table(std::string("SELECT start, end, globalPid, correlationId, streamId, '' FROM ") + table +
                     " WHERE globalPid IS NOT NULL AND correlationId IS NOT NULL",
                 RangeKind::kKernel);
    }
    return std::move(traces_);
  }

 private:
  std::int64_t bounded(std::int64_t ns) const {
    if (ns < 0 || ns > kMostNs) database_.fail("has the time " + std::to_string(ns) + " ns, expected one from 0 on");
    return ns;
  }

  /// Columns: start, end.
  TraceRange range_of(sqlite3_stmt* row, RangeKind kind) const {
    TraceRange range;
    range.kind = kind;
    range.start_ns = epoch_ns_ + bounded(sqlite3_column_int64(row, 0));
    range.end_ns = std::max(range.start_ns, epoch_ns_ + bounded(sqlite3_column_int64(row, 1)));
    return range;
  }

  void read_annotations() {
    database_.each(
        "SELECT n.start, n.end, n.globalTid, COALESCE(n.text, s.value) FROM NVTX_EVENTS AS n LEFT JOIN StringIds AS s "
        "ON s.id = n.textId WHERE n.end IS NOT NULL AND n.globalTid IS NOT NULL",
        [&](sqlite3_stmt* row) {
          TraceRange range = range_of(row, RangeKind::kAnnotation);
          const std::int64_t thread = sqlite3_column_int64(row, 2);
          range.thread = thread & kThreadBits;
          range.name = text_of_column(row, 3);
          if (is_operator(range.name)) {
            range.kind = RangeKind::kOperator;
            range.name.resize(std::min(range.name.size(), range.name.find(',')));
          }
          traces_[thread & ~kThreadBits].ranges.push_back(std::move(range));
        });
  }

  /// Columns: start, end, process or thread, correlation, stream, name.
  void read_table(const std::string& query, RangeKind kind) {
    database_.each(query, [&](sqlite3_stmt* row) {
      const std::int64_t thread = sqlite3_column_int64(row, 2);
      const auto trace = traces_.find(thread & ~kThreadBits);
      if (trace == traces_.end()) return;
      TraceRange range = range_of(row, kind);
      range.correlation = sqlite3_column_int64(row, 3);
      range.thread = kind == RangeKind::kLaunch ? thread & kThreadBits : sqlite3_column_int64(row, 4);
      if (is_message_kernel(text_of_column(row, 5))) range.kind = RangeKind::kMessageKernel;
      trace->second.ranges.push_back(std::move(range));
    });
  }

  const Export& database_;
  std::int64_t epoch_ns_ = 0;
  std::map<std::int64_t, RankTrace> traces_;  ///< by process
};

}  // namespace

bool is_sqlite(std::string_view bytes) { return bytes.starts_with("SQLite format 3"); }

std::vector<RankTrace> read_nsys(const std::string& bytes, const std::string& file_name) {
  const Export database(bytes, file_name);
  std::vector<RankTrace> traces;
  for (auto& [process, trace] : ExportReader(database).read()) {
    trace.file = file_name + " (process " + std::to_string((process >> 24U) & kThreadBits) + ")";
    sort_ranges(trace);
    traces.push_back(std::move(trace));
  }
  if (traces.empty()) {
    throw Error(file_name + ": has no NVTX ranges; expected those of PyTorch's pipelining or of Megatron-LM");
  }
  return traces;
}

}  // namespace plumb
