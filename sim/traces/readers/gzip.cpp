#include "sim/traces/readers/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 18U;
/// 15 bits of window, and a header of gzip.
constexpr int kGzipWindow = 15 + 16;

/// One stream of zlib, ended when it goes out of scope.
class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw Error("not enough memory to unpack a gzip file");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string gunzip(std::string_view bytes, std::string_view file_name, std::uint64_t most_bytes) {
  const std::string file(file_name);
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::string text;
  std::string piece(kPieceBytes, '\0');
  while (true) {
    if (stream.avail_in == 0) {
      const std::size_t next = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      // zlib reads through this pointer only; its type is not const for reasons of age.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(next);
      bytes.remove_prefix(next);
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int answer = inflate(&stream, Z_NO_FLUSH);
    text.append(piece.data(), piece.size() - stream.avail_out);
    if (text.size() > most_bytes) {
      throw Error(file + ": unpacks to more than " + std::to_string(most_bytes) + " bytes, which is the limit");
    }
    const bool used_up = stream.avail_in == 0 && bytes.empty();
    if (answer == Z_STREAM_END) {
      if (used_up) return text;
      inflateReset(&stream);  // the next member
    } else if (answer != Z_OK || (used_up && stream.avail_out != 0)) {
      throw Error(file + ": is a damaged or cut-off gzip file after " + std::to_string(text.size()) +
                  " unpacked bytes, expected a whole one");
    }
  }
}

}  // namespace plumb
