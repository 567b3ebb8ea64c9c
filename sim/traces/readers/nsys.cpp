#include "sim/traces/readers/nsys.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/reader_limits.hpp"

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

/// The tables of an export that are read. There are others.
constexpr std::array<std::string_view, 8> kTables{"StringIds",
                                                  "TARGET_INFO_SESSION_START_TIME",
                                                  "NVTX_EVENTS",
                                                  "CUPTI_ACTIVITY_KIND_RUNTIME",
                                                  "CUPTI_ACTIVITY_KIND_KERNEL",
                                                  "CUPTI_ACTIVITY_KIND_MEMCPY",
                                                  "CUPTI_ACTIVITY_KIND_MEMSET",
                                                  "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};

const std::string kWriter = "`nsys export --type sqlite`";

/// Lives until the next row.
std::string_view view_of_column(sqlite3_stmt* row, int column) {
  const auto* text = sqlite3_column_text(row, column);
  return text == nullptr ? std::string_view{} : reinterpret_cast<const char*>(text);
}

/// A database in memory, which refers to the bytes that it was opened with.
class Export {
 public:
  Export(const std::string& bytes, std::string file_name) : file_(std::move(file_name)) {
    sqlite3* database = nullptr;
    const bool opened = sqlite3_open(":memory:", &database) == SQLITE_OK;
    database_.reset(database);
    if (!opened) throw Error("not enough memory to read an SQLite database");
    limit(bytes.size());
    // SQLite only reads what is deserialized read-only; its type is not const for reasons of age.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    check(sqlite3_deserialize(database, "main", data, size, size, SQLITE_DESERIALIZE_READONLY));
    check_columns();
    check_pages();
    sqlite3_set_authorizer(
        database,
        [](void*, int action, const char* first, auto...) {
          return is_allowed(action, first) ? SQLITE_OK : SQLITE_DENY;
        },
        nullptr);
  }

  /// Returns whether there is a table of this name, which is one of `kTables`. What is no table of rows (a virtual one)
  /// has no page.
  bool has_table(std::string_view name) const {
    bool found = false;
    each("SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = '" + std::string(name) + "'",
         [&](sqlite3_stmt*) { found = true; });
    return found;
  }

  /// Calls `visit` for each row. Throws `Error` where there are too many, or finding them takes too long.
  template <class Visit>
  void each(const std::string& query, Visit visit) const {
    steps_left_ = most_steps_;
    sqlite3_stmt* raw = nullptr;
    const int prepared = sqlite3_prepare_v2(database_.get(), query.c_str(), -1, &raw, nullptr);
    const Statement statement(raw);
    check(prepared);
    int answer = SQLITE_ROW;
    std::uint64_t rows = 0;
    while ((answer = sqlite3_step(raw)) == SQLITE_ROW) {
      if (++rows > kTraceRows.most) {
        fail("has more than " + std::to_string(kTraceRows.most) + " rows in a table, expected a shorter run");
      }
      visit(raw);
    }
    if (answer == SQLITE_INTERRUPT) fail("takes too long to read, expected what " + kWriter + " writes");
    if (answer != SQLITE_DONE) check(answer);
  }

  [[noreturn]] void fail(const std::string& what) const { throw Error(file_ + ": " + what); }

 private:
  static constexpr int kStepsAtOnce = 1000;
  static constexpr std::int64_t kFewestSteps = 10'000'000;

  /// The file may be anybody's: nothing that it defines is run, and nothing takes more than its length explains
  /// (sqlite.org/security.html).
  void limit(std::size_t file_bytes) {
    sqlite3* database = database_.get();
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    constexpr std::array<std::pair<int, int>, 9> kDatabaseLimits{
        {{SQLITE_LIMIT_LENGTH, static_cast<int>(kTraceText.most)},
         {SQLITE_LIMIT_SQL_LENGTH, 20'000},
         {SQLITE_LIMIT_EXPR_DEPTH, 100},
         {SQLITE_LIMIT_COMPOUND_SELECT, 3},
         {SQLITE_LIMIT_FUNCTION_ARG, 8},
         {SQLITE_LIMIT_ATTACHED, 0},
         {SQLITE_LIMIT_VARIABLE_NUMBER, 10},
         {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
         {SQLITE_LIMIT_WORKER_THREADS, 0}}};
    for (const auto& [what, most] : kDatabaseLimits) sqlite3_limit(database, what, most);
    most_steps_ = kFewestSteps + static_cast<std::int64_t>(kQuerySteps.most * file_bytes);
    sqlite3_progress_handler(database, kStepsAtOnce, count_steps, this);
  }

  /// Stops a query that has taken all of its steps.
  static int count_steps(void* object) {
    const auto* database = static_cast<const Export*>(object);
    return (database->steps_left_ -= kStepsAtOnce) < 0 ? 1 : 0;
  }

  /// Queries of the rows of known tables, and nothing else.
  static bool is_allowed(int action, const char* table) {
    if (action == SQLITE_SELECT) return true;
    if (action != SQLITE_READ || table == nullptr) return false;
    const std::string_view name = table;
    return name == "sqlite_master" || std::ranges::find(kTables, name) != kTables.end();
  }

  /// Refuses computed columns, which would be run for every row, of any table: the check of pages reads them all.
  void check_columns() const {
    std::vector<std::string> tables;
    each("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0",
         [&](sqlite3_stmt* row) { tables.emplace_back(view_of_column(row, 0)); });
    for (const std::string& table : tables) {
      std::string quoted;
      for (const char letter : table) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
      each("PRAGMA table_xinfo(\"" + quoted + "\")", [&](sqlite3_stmt* row) {
        if (sqlite3_column_int(row, 6) == 0) return;
        fail("table " + table + " has a computed column, expected one that " + kWriter + " writes");
      });
    }
  }

  /// A page that several trees refer to, or that lies outside of the file, is found before anything follows it.
  void check_pages() const {
    std::string said;
    each("PRAGMA cell_size_check = ON", [](sqlite3_stmt*) {});
    each("PRAGMA ignore_check_constraints = ON", [](sqlite3_stmt*) {});
    each("PRAGMA quick_check(1)", [&](sqlite3_stmt* row) { said = view_of_column(row, 0); });
    if (said != "ok") fail("is damaged: " + said + "; expected what " + kWriter + " writes");
  }

  void check(int answer) const {
    if (answer == SQLITE_OK) return;
    fail("cannot be read as what " + kWriter + " writes: " + sqlite3_errmsg(database_.get()));
  }

  std::string file_;
  std::int64_t most_steps_ = 0;  ///< most steps of one query
  mutable std::int64_t steps_left_ = 0;
  Database database_;
};

/// PyTorch's `emit_nvtx` writes "aten::mm, seq = 12, sizes = [[..]]"; functions of the user's have such numbers, too.
bool is_operator(std::string_view name) {
  return name.starts_with("aten::") || name.starts_with("autograd::") || name.starts_with("c10d::") ||
         name.find(", seq = ") != std::string_view::npos;
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
    if (database_.has_table("StringIds")) read_strings();
    read_annotations();
    // What happened in processes that annotate nothing is not asked for.
    if (database_.has_table("CUPTI_ACTIVITY_KIND_RUNTIME")) {
      read_table(
          "SELECT start, end, globalTid, correlationId, 0, NULL FROM CUPTI_ACTIVITY_KIND_RUNTIME "
          "WHERE globalTid IS NOT NULL AND correlationId IS NOT NULL",
          RangeKind::kLaunch);
    }
    if (database_.has_table("CUPTI_ACTIVITY_KIND_KERNEL")) {
      read_table(
          "SELECT start, end, globalPid, correlationId, streamId, shortName FROM CUPTI_ACTIVITY_KIND_KERNEL "
          "WHERE globalPid IS NOT NULL AND correlationId IS NOT NULL",
          RangeKind::kKernel);
    }
    // By default a captured graph is traced as one thing that ran, without its kernels.
    for (const char* table :
         {"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"}) {
      if (!database_.has_table(table)) continue;
      read_table(std::string("SELECT start, end, globalPid, correlationId, streamId, NULL FROM ") + table +
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

  void read_strings() {
    database_.each("SELECT id, value FROM StringIds", [&](sqlite3_stmt* row) {
      const std::int64_t id = sqlite3_column_int64(row, 0);
      if (!strings_.emplace(id, names_.kept(view_of_column(row, 1))).second) {
        database_.fail("has the text " + std::to_string(id) + " twice, expected each number once in StringIds");
      }
    });
  }

  /// Returns the text whose number stands in this column; empty: none.
  std::string_view string_of(sqlite3_stmt* row, int column) const {
    if (sqlite3_column_type(row, column) == SQLITE_NULL) return {};
    const auto found = strings_.find(sqlite3_column_int64(row, column));
    return found == strings_.end() ? std::string_view{} : found->second;
  }

  void read_annotations() {
    database_.each(
        "SELECT start, end, globalTid, text, textId FROM NVTX_EVENTS "
        "WHERE end IS NOT NULL AND globalTid IS NOT NULL",
        [&](sqlite3_stmt* row) {
          TraceRange range = range_of(row, RangeKind::kAnnotation);
          const std::int64_t thread = sqlite3_column_int64(row, 2);
          range.thread = thread & kThreadBits;
          const bool is_inline = sqlite3_column_type(row, 3) != SQLITE_NULL;
          std::string_view name = is_inline ? view_of_column(row, 3) : string_of(row, 4);
          if (is_operator(name)) {
            range.kind = RangeKind::kOperator;
            name = name.substr(0, name.find(','));
          }
          range.name = is_inline ? names_.kept(name) : name;
          RankTrace& trace = traces_[thread & ~kThreadBits];
          trace.names = names_;
          trace.ranges.push_back(range);
        });
  }

  /// Columns: start, end, process or thread, correlation, stream, number of the name.
  void read_table(const std::string& query, RangeKind kind) {
    database_.each(query, [&](sqlite3_stmt* row) {
      const std::int64_t thread = sqlite3_column_int64(row, 2);
      const auto trace = traces_.find(thread & ~kThreadBits);
      if (trace == traces_.end()) return;
      TraceRange range = range_of(row, kind);
      range.correlation = sqlite3_column_int64(row, 3);
      range.thread = kind == RangeKind::kLaunch ? thread & kThreadBits : sqlite3_column_int64(row, 4);
      if (is_message_kernel(string_of(row, 5))) range.kind = RangeKind::kMessageKernel;
      trace->second.ranges.push_back(range);
    });
  }

  const Export& database_;
  std::int64_t epoch_ns_ = 0;
  TraceNames names_;  ///< names of all processes
  std::unordered_map<std::int64_t, std::string_view> strings_;
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
