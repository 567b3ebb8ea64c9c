#include "models/ground/text_file.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "models/ground/given_files.hpp"
#include "models/ground/reader_limits.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb::testing {

TEST_CASE("a file is read whole, whatever its length is to the blocks") {
  const ScratchDirectory scratch;
  for (const std::size_t length : {0, 1, 65535, 65536, 65537, 200'000}) {
    std::string text(length, 'a');
    if (length > 0) text.back() = 'z';
    CHECK(read_text_file(scratch.write("text", text)) == text);
  }
}

TEST_CASE("a file that is longer than its kind may be is refused before it is read, with both sizes") {
  const ScratchDirectory scratch;
  const std::filesystem::path path = scratch.write("sparse.json", "");
  std::filesystem::resize_file(path, 10 * kGibibyte);
  CHECK(error_message([&] { read_text_file(path, kScheduleFile); }) ==
        path.string() + ": has 10737418240 bytes, expected a file (schedule) of at most 268435456 bytes (256 MiB)");
  CHECK(error_message([&] { read_text_file(path, kTrainingDataFile); }) ==
        path.string() + ": has 10737418240 bytes, expected a file (training data) of at most 4294967296 bytes (4 GiB)");
  std::filesystem::resize_file(path, 1001);
  CHECK(error_message([&] {
          read_text_file(path, {"test", 1000});
        }) == path.string() + ": has 1001 bytes, expected a file (test) of at most 1000 bytes");
  std::filesystem::resize_file(path, 1000);
  CHECK(read_text_file(path, {"test", 1000}).size() == 1000);
}

TEST_CASE("what does not know its size is read up to the limit and refused beyond it") {
  const ScratchDirectory scratch;
  const std::filesystem::path path = scratch.path() / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const auto fed = [&](std::size_t bytes, const FileKind& kind) {
    std::thread writer([&] { std::ofstream(path) << std::string(bytes, 'a'); });
    std::size_t read = 0;
    const std::string message = error_message([&] { read = read_text_file(path, kind).size(); });
    writer.join();
    return message.empty() ? std::to_string(read) : message;
  };
  CHECK(fed(60'000, {"test", 60'000}) == "60000");
  CHECK(fed(60'001, {"test", 60'000}) ==
        path.string() + ": has more than 60000 bytes, expected a file (test) that ends before");
}

TEST_CASE("devices that never end are refused at once") {
  CHECK(error_message([] { read_text_file("/dev/zero"); }) == "/dev/zero: is a device, expected a file");
  CHECK(error_message([] { read_text_file("/dev/urandom"); }) == "/dev/urandom: is a device, expected a file");
  CHECK(read_text_file("/dev/null").empty());
}

TEST_CASE("SECURITY.md tells the limit of every kind of file") {
  const std::string page = read_text_file(in_source("SECURITY.md"));
  for (const FileKind& kind : kFileKinds) {
    CAPTURE(kind.name);
    const bool whole = kind.most_bytes % kGibibyte == 0;
    const std::string size =
        std::to_string(kind.most_bytes / (whole ? kGibibyte : kMebibyte)) + (whole ? " GiB" : " MiB");
    const std::size_t row = page.find("\n| " + std::string(kind.name) + " ");
    REQUIRE(row != std::string::npos);
    const std::string cells = page.substr(row + 1, page.find('\n', row + 1) - row - 1);
    CAPTURE(cells);
    CHECK(cells.find("| " + size) != std::string::npos);
  }
}

TEST_CASE("SECURITY.md tells every limit of the readers, and no other one") {
  const std::string page = read_text_file(in_source("SECURITY.md"));
  const std::size_t begin = page.find("\n| what a reader takes | at most |\n");
  REQUIRE(begin != std::string::npos);
  const std::string table = page.substr(begin + 1, page.find("\n\n", begin + 1) - begin);
  std::string expected = "| what a reader takes | at most |\n|---|---|\n";
  for (const ReaderLimit& limit : kReaderLimits) {
    std::string most = std::to_string(limit.most);
    for (std::size_t at = most.size(); at > 3; at -= 3) most.insert(at - 3, ",");
    most += " " + std::string(limit.unit);
    if (limit.unit == "bytes" && limit.most % kGibibyte == 0) most = std::to_string(limit.most / kGibibyte) + " GiB";
    if (limit.unit == "bytes" && limit.most % kGibibyte != 0 && limit.most % kMebibyte == 0) {
      most = std::to_string(limit.most / kMebibyte) + " MiB";
    }
    expected += "| " + std::string(limit.what) + " | " + most + " |\n";
  }
  CHECK(table == expected);
}

TEST_CASE("a pipe that a document names is refused at once, and one that a user names is read") {
  const ScratchDirectory scratch;
  const std::filesystem::path pipe = scratch.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  {
    const GivenFiles named(FileReach::kRegular);
    CHECK(error_message([&] { read_text_file(pipe); }) ==
          pipe.string() + ": is a pipe or a terminal, expected a regular file where a document names it");
    CHECK(read_text_file(scratch.write("text", "abc")) == "abc");
    CHECK(read_text_file("/dev/null").empty());
  }
  std::thread writer([&] { std::ofstream(pipe) << "abc"; });
  CHECK(read_text_file(pipe) == "abc");
  writer.join();
}

TEST_CASE("where only given texts may be read, the disk is as good as empty") {
  const ScratchDirectory scratch;
  const std::filesystem::path file = scratch.write("text.json", "of the disk");
  const TextsByName texts{{"given.json", "of the request"}};
  const GivenFiles given({.texts = &texts, .reach = FileReach::kGiven});
  CHECK(read_text_file("given.json") == "of the request");
  CHECK(file_exists("given.json"));
  CHECK(error_message([&] { read_text_file(file); }) ==
        file.string() + ": is no text of the request, expected one of its 'files', because nothing else may be read");
  CHECK(error_message([&] { folder_entries(scratch.path(), 9); }).find("is no text of the request") !=
        std::string::npos);
  CHECK_FALSE(file_exists(file));
  CHECK_FALSE(is_folder(scratch.path()));
  {
    const GivenFiles inner(FileReach::kAll);
    CHECK_FALSE(file_exists(file));
    CHECK(file_exists("given.json"));
  }
}

TEST_CASE("directories and files that are not there are refused by name") {
  CHECK(error_message([] { read_text_file("/"); }) == "/: is a directory, expected a file");
  CHECK(error_message([] { read_text_file("/no/such/file"); }) ==
        "/no/such/file: cannot open: No such file or directory");
}

}  // namespace plumb::testing

TEST_SUITE_END();
