#pragma once

#include <functional>

#include "tools/options/option_table.hpp"

namespace plumb {

/// Shows the options of commands to whoever describes them, such as a manual: while an object lives,
/// `parse_command_line` hands its table to the watch instead of parsing, and returns false, as for `--help`.
class TableWatch {
 public:
  using See = std::function<void(const OptionTable& table)>;

  explicit TableWatch(See see);
  TableWatch(const TableWatch&) = delete;
  TableWatch& operator=(const TableWatch&) = delete;
  ~TableWatch();

  /// Null where nobody watches.
  static const See* current();

 private:
  See see_;
  const See* outer_;
};

}  // namespace plumb
