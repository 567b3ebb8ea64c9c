#include "models/ground/text_file.hpp"

#include <doctest/doctest.h>

#include "tests/support/error_message.hpp"
#include "tests/support/scratch_directory.hpp"

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

TEST_CASE("what never ends is refused instead of read for ever") {
  CHECK(error_message([] { read_text_file("/dev/zero", 100'000); }) ==
        "/dev/zero: longer than 100000 bytes, expected a document that ends");
}

TEST_CASE("directories and files that are not there are refused by name") {
  CHECK(error_message([] { read_text_file("/"); }) == "/: is a directory, expected a file");
  CHECK(error_message([] { read_text_file("/no/such/file"); }) ==
        "/no/such/file: cannot open: No such file or directory");
}

}  // namespace plumb::testing

TEST_SUITE_END();
