#include "models/ground/disk.hpp"

#include <cerrno>
#include <string>

#include <fcntl.h>

#include <doctest/doctest.h>

#include "models/ground/text_file.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb::testing {

TEST_CASE(
    "a file is opened, written, flushed, closed, renamed and removed, and what is not there is told by its reason") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "a" / "b" / "file";
  int descriptor = 7;
  CHECK(disk::open(path, O_WRONLY | O_CREAT, 0600, descriptor) == ENOENT);
  CHECK(descriptor == -1);
  CHECK(disk::make_folder(path.parent_path()) == 0);
  CHECK(disk::make_folder(path.parent_path()) == 0);
  CHECK(disk::open(path, O_WRONLY | O_CREAT, 0600, descriptor) == 0);
  CHECK(descriptor >= 0);
  const std::string text(300'000, 'x');
  CHECK(disk::write_all(descriptor, text, path) == 0);
  CHECK(disk::flush(descriptor, path) == 0);
  CHECK(disk::close(descriptor, path) == 0);
  CHECK(descriptor == -1);
  CHECK(disk::write_all(descriptor, text, path) == EBADF);
  CHECK(disk::write_all(descriptor, "", path) == 0);
  CHECK(disk::flush(descriptor, path) == EBADF);
  CHECK(disk::close(descriptor, path) == EBADF);
  CHECK(read_text_file(path) == text);
  CHECK(disk::rename(path, scratch.path() / "file") == 0);
  CHECK(disk::rename(path, scratch.path() / "file") == ENOENT);
  CHECK(scratch.listing() == "a file");
  CHECK(disk::remove(scratch.path() / "a") == 0);
  CHECK(disk::remove(scratch.path() / "a") == 0);
  CHECK(scratch.listing() == "file");
  CHECK(disk::flush_folder(scratch.path()) == 0);
  CHECK(disk::flush_folder(scratch.path() / "a") == ENOENT);
  CHECK(disk::make_folder(scratch.path() / "file" / "c") == ENOTDIR);
}

TEST_CASE("what cannot be flushed, such as a device, is no failure") {
  int descriptor = -1;
  REQUIRE(disk::open("/dev/null", O_WRONLY, 0, descriptor) == 0);
  CHECK(disk::flush(descriptor, "/dev/null") == 0);
  CHECK(disk::close(descriptor, "/dev/null") == 0);
}

TEST_CASE("every call fails with the reason that a test gives it, and only then") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "file";
  for (const disk::Call failing :
       {disk::Call::kOpen, disk::Call::kWrite, disk::Call::kFlush, disk::Call::kClose, disk::Call::kLink,
        disk::Call::kRename, disk::Call::kRemove, disk::Call::kMakeFolder}) {
    disk::set_fault([&](disk::Call call, const std::filesystem::path&) { return call == failing ? EIO : 0; });
    const auto expected = [&](disk::Call call) { return call == failing ? EIO : 0; };
    int descriptor = -1;
    CHECK(disk::open(path, O_WRONLY | O_CREAT, 0600, descriptor) == expected(disk::Call::kOpen));
    CHECK((descriptor == -1) == (failing == disk::Call::kOpen));
    if (descriptor >= 0) {
      CHECK(disk::write_all(descriptor, "text", path) == expected(disk::Call::kWrite));
      CHECK(disk::flush(descriptor, path) == expected(disk::Call::kFlush));
      CHECK(disk::close(descriptor, path) == expected(disk::Call::kClose));
      CHECK(descriptor == -1);
    }
    if (failing == disk::Call::kLink) CHECK(disk::name_unnamed(-1, path) == EIO);
    if (failing == disk::Call::kRename) CHECK(disk::rename(path, path) == EIO);
    const bool flushes = failing == disk::Call::kOpen || failing == disk::Call::kFlush || failing == disk::Call::kClose;
    CHECK(disk::make_folder(scratch.path() / "folder") == (flushes ? EIO : expected(disk::Call::kMakeFolder)));
    CHECK(disk::remove(scratch.path() / "folder") == expected(disk::Call::kRemove));
    disk::set_fault({});
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
