#include "trainer/checkpoint/checkpoint_folder.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "models/ground/disk.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

namespace fs = std::filesystem;

void write_two_files(const fs::path& directory) {
  for (const char* name : {"one", "two"}) std::ofstream(directory / name) << name;
}

}  // namespace

TEST_CASE("a folder of checkpoints belongs to one run as long as that lives") {
  const testing::ScratchDirectory scratch;
  const fs::path path = scratch.path() / "a" / "b";
  const std::string refused =
      path.string() +
      ": another run that has not ended saves its checkpoints here; expected another folder, or its end";
  {
    const CheckpointFolder folder(path);
    CHECK(testing::error_message([&] { CheckpointFolder second(path); }) == refused);
  }
  CHECK(testing::error_message([&] { CheckpointFolder third(path); }).empty());
}

TEST_CASE("the lock of a process that is killed is gone") {
  const testing::ScratchDirectory scratch;
  const pid_t child = ::fork();
  if (child == 0) {
    const CheckpointFolder folder(scratch.path());
    ::raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(fs::exists(scratch.path() / ".lock"));
  CHECK(testing::error_message([&] { CheckpointFolder folder(scratch.path()); }).empty());
}

TEST_CASE("what interrupted runs left is removed at the start, and nothing else") {
  const testing::ScratchDirectory scratch;
  for (const char* name : {"update-000000001", "update-000000002.unfinished", "removed-000000003", "damaged-000000004",
                           "removed-by-me", "update-notes.unfinished", "notes"}) {
    fs::create_directory(scratch.path() / name);
    std::ofstream(scratch.path() / name / "file") << "text";
  }
  const CheckpointFolder folder(scratch.path());
  CHECK(scratch.listing() == ".lock damaged-000000004 notes removed-by-me update-000000001 update-notes.unfinished");
}

TEST_CASE("an old checkpoint loses its name before its files, wherever its removal is interrupted") {
  const testing::ScratchDirectory scratch;
  CheckpointFolder folder(scratch.path());
  folder.add(1, write_two_files);
  folder.add(2, write_two_files);
  disk::set_fault([](disk::Call call, const fs::path&) { return call == disk::Call::kRemove ? EIO : 0; });
  CHECK_THROWS(folder.add(3, write_two_files));  // the place of the new one cannot be cleared
  disk::set_fault([](disk::Call call, const fs::path& path) {
    const bool is_removed = path.filename().string().starts_with("removed-");
    return call == disk::Call::kRemove && is_removed && fs::exists(path) ? EIO : 0;
  });
  folder.add(3, write_two_files);
  disk::set_fault({});
  CHECK(scratch.listing() == ".lock removed-000000001 update-000000002 update-000000003");
  CHECK(checkpoints_in(scratch.path()).size() == 2);
}

TEST_CASE("whichever call fails while a checkpoint is added, all that look like one are whole") {
  for (int number = 0;; ++number) {
    CAPTURE(number);
    const testing::ScratchDirectory scratch;
    CheckpointFolder folder(scratch.path());
    folder.add(1, write_two_files);
    folder.add(2, write_two_files);
    int calls = 0;
    disk::set_fault([&](disk::Call, const fs::path&) { return calls++ == number ? EIO : 0; });
    const std::string message = testing::error_message([&] { folder.add(3, write_two_files); });
    disk::set_fault({});
    const auto left = checkpoints_in(scratch.path());
    CHECK(left.size() >= 2);
    for (const fs::path& checkpoint : left) {
      CAPTURE(checkpoint);
      CHECK(fs::exists(checkpoint / "one"));
      CHECK(fs::exists(checkpoint / "two"));
    }
    const bool has_new = left.back().filename() == "update-000000003";
    CHECK((has_new || !message.empty()));
    CHECK(!fs::exists(scratch.path() / "update-000000003.unfinished"));
    if (calls <= number) break;
  }
}

}  // namespace plumb

TEST_SUITE_END();
