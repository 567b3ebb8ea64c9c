// What a page cannot do: ask the system, measure this machine, run programs, unpack other programs' databases.
#include "models/cluster/host.hpp"
#include "models/ground/error.hpp"
#include "models/ground/huge_pages.hpp"
#include "models/launches/config_settings.hpp"
#include "sim/traces/readers/gzip.hpp"
#include "sim/traces/readers/nsys.hpp"
#include "tools/formats/schedule_program.hpp"
#include "tools/terminal/terminal.hpp"

namespace plumb {

void prefer_huge_pages(void*, std::size_t) {}

Cluster measure_host() { throw Error("cluster 'host': a page cannot measure its machine, expected another cluster"); }

bool is_terminal(std::FILE*) { return false; }
bool wants_colour() { return false; }
int terminal_columns() { return kDefaultColumns; }

bool is_schedule_program(const std::string& name_or_file) { return name_or_file.starts_with("exec:"); }
void check_is_no_program(const std::string&) {}
std::string schedule_program_output(const std::string& program, const std::vector<std::string>&, const ProgramLimits&) {
  throw Error(program + ": a page runs no programs, expected a schedule");
}

ConfigValues values_of_yaml(std::string_view, const std::string& name) {
  throw Error(name + ": YAML cannot be read here, expected a launch script, TOML or JSON");
}

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }
std::string gunzip(std::string_view, std::string_view file_name, std::uint64_t) {
  throw Error(std::string(file_name) + ": is packed, expected an unpacked file");
}

bool is_sqlite(std::string_view bytes) { return bytes.starts_with("SQLite format 3"); }
std::vector<RankTrace> read_nsys(const std::string&, const std::string& file_name) {
  throw Error(file_name + ": a database of Nsight Systems cannot be read here, expected its export as CSV");
}

}  // namespace plumb
