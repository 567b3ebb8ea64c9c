#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/options/option_table.hpp"
#include "trainer/stages/backend.hpp"
#include "trainer/streams/stream_options.hpp"

namespace plumb {

/// Options for the distribution of devices over GPUs, shared by `train` and `profile`.
struct StreamArguments {
  std::string mode;  ///< empty: accuracy
  std::optional<std::int64_t> sms;
  std::optional<std::int64_t> gpus;
  std::optional<double> link_latency_us;
  std::string link_bandwidth;
  std::string product_table;
  std::optional<std::int64_t> product_trials;
  std::string attention;  ///< empty: own
  std::string attention_table;
  std::string convolutions;  ///< empty: own
  std::string convolution_table;
  std::optional<double> watchdog_s;
  bool no_graphs = false;

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);

  /// Throws `Error` for impossible values, and for options that do not apply to `backend` and this executor.
  StreamOptions options(const Backend& backend, std::string_view executor) const;

 private:
  void check(const Backend& backend, std::string_view executor) const;
};

}  // namespace plumb
