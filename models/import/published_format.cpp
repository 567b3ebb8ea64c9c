#include <string>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/published_network.hpp"

namespace plumb {
namespace {

/// A traced run has times, but no layers.
void refuse_trace(std::string_view text, std::string_view path) {
  if (text.find("\"traceEvents\"") == std::string_view::npos) return;
  throw Error(std::string(path) +
              ": is a profiler's trace, expected a network; the times of a traced run become a profile by `plumbline "
              "trace`");
}

}  // namespace

std::optional<PublishedFormat> published_format(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  if (text[begin] != '{' && text[begin] != '[') {
    if (text.find(" -- ") == std::string_view::npos) return {};
    return PublishedFormat::kGraphText;
  }
  if (text.find("\"maxSizePerFPGA\"") != std::string_view::npos) return PublishedFormat::kPlacement;
  if (text.find("\"TMPCs\"") != std::string_view::npos) return PublishedFormat::kTensorVariants;
  return {};
}

std::optional<PublishedNetwork> load_published(std::string_view path) {
  const std::string text = read_text_file(path, kNetworkFile);
  refuse_trace(text, path);
  if (!published_format(text)) return {};
  return published_network(text, path);
}

}  // namespace plumb
