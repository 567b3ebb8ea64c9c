#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// A file that appears whole or not at all: text goes to a hidden temporary file in the same directory, `commit` brings
/// it to the disk and gives it its name. "-" is standard output; an existing pipe or device is written in place.
///
/// Open it before long work, so that an unwritable path is reported at once.
class OutputFile {
 public:
  /// Throws `Error` ("PATH: cannot write: REASON") when the path cannot be written.
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  /// Without `commit`, leaves what was there before.
  ~OutputFile();

  /// Takes text in pieces of any size; buffered. Throws `Error` when it does not fit, e.g. on a full disk.
  void write(std::string_view text);

  /// Writes what is buffered and gives the file its name. Nothing may be written afterwards. Throws as `write` does.
  void commit();

  /// Writes `text` and commits.
  void finish(std::string_view text) {
    write(text);
    commit();
  }

  const std::string& path() const { return path_; }
  bool is_standard_output() const { return path_ == "-"; }

 private:
  void open_temporary();
  void flush();
  void link_unnamed();
  /// Throws for a reason other than 0.
  void check(int reason) const;

  std::string path_;    ///< as given
  std::string target_;  ///< what the path stands for, links followed
  std::string buffer_;
  std::string temporary_;  ///< name of the temporary; empty when it has none
  int descriptor_ = -1;
  bool in_place_ = false;  ///< standard output, a pipe or a device
};

/// Throws `Error` when two of the outputs of a command are the same file, or standard output. Empty names are none.
void check_distinct_outputs(const std::vector<std::string>& paths);

/// `text` as a terminal shows it: lines, and the colours of our drawings. Of everything else that would act on a
/// terminal the bytes are shown, as `printable` shows them.
std::string terminal_text(std::string_view text);

/// Writes `terminal_text(text)` to standard output. Throws `Error` when that fails, e.g. on a full disk.
void print(std::string_view text);

}  // namespace plumb
