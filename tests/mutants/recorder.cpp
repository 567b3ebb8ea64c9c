// Linked into a test program whose libraries were compiled with -fsanitize-coverage=trace-pc: writes down which blocks
// of code every test case runs, and how long it takes. coverage.py reads what it writes into the file
// PLUMB_MUTANTS_RECORD.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <link.h>

namespace {

/// The code of one library: its addresses in this process, and where its bytes begin in the table of marks.
struct Library {
  std::string path;
  std::uintptr_t load = 0, begin = 0, end = 0;
  std::size_t first_mark = 0;
};

// Plain storage, so that blocks which run before main() may be marked, too.
constexpr std::size_t kMostLibraries = 16;
std::uintptr_t begins[kMostLibraries], ends[kMostLibraries];
std::size_t first_marks[kMostLibraries], library_count = 0;
unsigned char* marks = nullptr;

int add_library(dl_phdr_info* info, std::size_t, void* into) {
  auto& libraries = *static_cast<std::vector<Library>*>(into);
  if (std::strstr(info->dlpi_name, "libplumb_") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    libraries.push_back({info->dlpi_name, info->dlpi_addr, begin, begin + part.p_memsz, 0});
  }
  return 0;
}

struct Recorder : doctest::IReporter {
  explicit Recorder(const doctest::ContextOptions&) {
    unsetenv("LD_PRELOAD");  // a mutant is for this program, not for those that a case starts
    const char* path = std::getenv("PLUMB_MUTANTS_RECORD");
    if (path == nullptr) return;
    std::vector<Library> libraries;
    dl_iterate_phdr(add_library, &libraries);
    out.open(path, std::ios::binary);
    for (auto& library : libraries) {
      if (library_count == kMostLibraries) std::abort();
      library.first_mark = size;
      begins[library_count] = library.begin;
      ends[library_count] = library.end;
      first_marks[library_count++] = size;
      size += library.end - library.begin;
      out << "library\t" << library.path << '\t' << library.begin - library.load << '\t' << library.first_mark << '\n';
    }
    marks = static_cast<unsigned char*>(std::calloc(size, 1));
  }

  void test_case_start(const doctest::TestCaseData& data) override {
    name = data.m_name;
    started = std::clock();
    if (marks != nullptr) std::memset(marks, 0, size);
  }
  void test_case_end(const doctest::CurrentTestCaseStats&) override {
    if (marks == nullptr) return;
    std::vector<std::uint32_t> found;
    for (const unsigned char* at = marks; at < marks + size; ++at) {
      at = static_cast<const unsigned char*>(std::memchr(at, 1, static_cast<std::size_t>(marks + size - at)));
      if (at == nullptr) break;
      found.push_back(static_cast<std::uint32_t>(at - marks));
    }
    const double seconds = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
    std::replace(name.begin(), name.end(), '\t', ' ');
    out << "case\t" << name << '\t' << seconds << '\t' << found.size() << '\n';
    out.write(reinterpret_cast<const char*>(found.data()),
              static_cast<std::streamsize>(found.size() * sizeof(found[0])));
    out.flush();
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

  std::ofstream out;
  std::size_t size = 0;
  std::string name;
  std::clock_t started = 0;
};

REGISTER_LISTENER("mutants", 1, Recorder);

}  // namespace

/// GCC's libraries call it at the beginning of every block.
extern "C" __attribute__((visibility("default"))) void __sanitizer_cov_trace_pc() {
  if (marks == nullptr) return;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  for (std::size_t i = 0; i < library_count; ++i) {
    if (here >= begins[i] && here < ends[i]) {
      marks[first_marks[i] + (here - begins[i])] = 1;
      return;
    }
  }
}
