#include "tools/terminal/output_file.hpp"

#include <cerrno>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using plumb::OutputFile;
using plumb::testing::file_text;
using plumb::testing::ScratchDirectory;

/// Makes the call with this number fail, counted from 0, as long as it lives.
class FailingCall {
 public:
  explicit FailingCall(int number) {
    plumb::disk::set_fault(
        [this, number](plumb::disk::Call, const std::filesystem::path&) { return calls_++ == number ? EIO : 0; });
  }
  FailingCall(const FailingCall&) = delete;
  FailingCall& operator=(const FailingCall&) = delete;
  ~FailingCall() { plumb::disk::set_fault({}); }

  int calls() const { return calls_; }

 private:
  int calls_ = 0;
};

}  // namespace

TEST_CASE("a file has its name and text only after commit") {
  const ScratchDirectory scratch;
  OutputFile file((scratch.path() / "out.json").string());
  file.write("first ");
  file.write("second");
  CHECK(scratch.listing() == "");
  file.commit();
  CHECK(scratch.listing() == "out.json");
  CHECK(file_text(scratch.path() / "out.json") == "first second");
}

TEST_CASE("a file that is not committed leaves the old one as it was") {
  const ScratchDirectory scratch;
  scratch.write("out.json", "old");
  {
    OutputFile file((scratch.path() / "out.json").string());
    file.write("new");
  }
  CHECK(scratch.listing() == "out.json");
  CHECK(file_text(scratch.path() / "out.json") == "old");
}

TEST_CASE("a replaced file keeps its permissions, and a link keeps pointing at it") {
  const ScratchDirectory scratch;
  scratch.write("real.json", "old");
  ::chmod((scratch.path() / "real.json").c_str(), 0640);
  std::filesystem::create_symlink("real.json", scratch.path() / "link.json");
  OutputFile((scratch.path() / "link.json").string()).finish("new");
  CHECK(file_text(scratch.path() / "real.json") == "new");
  CHECK(std::filesystem::is_symlink(scratch.path() / "link.json"));
  struct stat status {};
  REQUIRE(::stat((scratch.path() / "real.json").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0640);
}

TEST_CASE("a full disk is an error that names the file") {
  OutputFile file("/dev/full");
  CHECK_THROWS_WITH_AS(file.finish("text"), "/dev/full: cannot write: No space left on device", plumb::Error);
}

TEST_CASE("whichever call fails, it is told, the old file or the new one is there, and nothing else") {
  int told = 0;
  for (int number = 0;; ++number) {
    CAPTURE(number);
    const ScratchDirectory scratch;
    const std::string path = scratch.write("out.json", "old").string();
    const FailingCall failing(number);
    bool failed = false;
    try {
      OutputFile(path).finish("new");
    } catch (const plumb::Error& error) {
      failed = true;
      CHECK(std::string(error.what()) == path + ": cannot write: Input/output error");
    }
    CHECK(scratch.listing() == "out.json");
    const std::string text = file_text(path);
    CHECK((text == "new" || (failed && text == "old")));
    if (failing.calls() <= number) break;
    told += failed ? 1 : 0;
    CHECK(failed);
  }
  CHECK(told == 9);  // open, write, flush, name, close, rename, and the three calls that flush the folder
}

TEST_CASE("text of many pieces arrives whole") {
  const ScratchDirectory scratch;
  OutputFile file((scratch.path() / "big").string());
  std::string expected;
  for (int i = 0; i < 40'000; ++i) {
    const std::string piece = std::to_string(i) + " and some more text to fill the buffer\n";
    expected += piece;
    file.write(piece);
  }
  file.commit();
  CHECK(file_text(scratch.path() / "big") == expected);
}

TEST_CASE("of what would act on a terminal only lines and the colours of drawings stay") {
  using plumb::terminal_text;
  const std::string drawing = "a\tb\n\033[30;46m F0 \033[0m µ\n";
  CHECK(terminal_text(drawing) == drawing);
  CHECK(terminal_text("\033]0;title\a") == "\\x1b]0;title\\x07");
  CHECK(terminal_text("\033[2J\033[30;8m\033[30;1111m\033[30;4") == "\\x1b[2J\033[30;8m\\x1b[30;1111m\\x1b[30;4");
  CHECK(terminal_text("\xff\r\xc2\x9b") == "\\xff\\x0d\\xc2\\x9b");
}

TEST_CASE("a schedule's name and a file's name send nothing to a terminal but letters") {
  const ScratchDirectory scratch;
  std::string document = plumb::testing::run_command("plumbline schedule 1f1b -p 2 -m 2", scratch.path()).out;
  const std::string name = R"("name": "1f1b")";
  REQUIRE(document.find(name) != std::string::npos);
  document.replace(document.find(name), name.size(), R"("name": "\u001b]0;PWN\u0007")");
  scratch.write("x\033.json", document);
  const auto run = [&](const std::string& command) {
    const auto result = plumb::testing::run_command("plumbline " + command, scratch.path());
    CAPTURE(result.err);
    CHECK(result.status == 0);
    return result.out + result.err;
  };
  for (const char* command : {"simulate x* --cost F=1 --summary", "simulate x* --cost F=1", "validate x*",
                              "sweep x* -p 2 -m 2 --cost F=1", "schedule x*"}) {
    CAPTURE(command);
    const std::string said = run(command);
    CHECK(said.find('\033') == std::string::npos);
    CHECK(said.find('\a') == std::string::npos);
  }
}

TEST_CASE("a directory that does not exist is reported when the file is opened") {
  const ScratchDirectory scratch;
  const std::string path = (scratch.path() / "no" / "out.json").string();
  CHECK_THROWS_WITH_AS(OutputFile{path}, (path + ": cannot write: No such file or directory").c_str(), plumb::Error);
}

TEST_CASE("a directory is no file to write") {
  const ScratchDirectory scratch;
  const std::string path = scratch.path().string();
  CHECK_THROWS_WITH_AS(OutputFile{path}, (path + ": cannot write: Is a directory").c_str(), plumb::Error);
}
