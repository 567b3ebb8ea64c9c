#include "tools/options/network_argument.hpp"

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "models/import/model_config.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

/// The built-in network of an id of the Hugging Face Hub, "meta-llama/Llama-3.1-70B"; empty where there is a file of
/// this name, or none is built in.
std::string_view network_of_hub_id(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || slash == 0 || name.find('/', slash + 1) != std::string::npos) return {};
  return file_exists(name) ? std::string_view{} : builtin_network_called(std::string_view(name).substr(slash + 1));
}

}  // namespace

Network network_argument(const std::string& name_or_path) {
  if (const std::string_view built_in = network_of_hub_id(name_or_path); !built_in.empty()) {
    Network network = load_network(built_in);
    note("plumbline: note: " + printable(name_or_path) + " is read as the built-in network " + std::string(built_in) +
         " with samples of " + std::to_string(network.sequence) + " tokens; nothing is downloaded");
    return network;
  }
  Network network = load_network(name_or_path);
  if (const std::string keys = unread_keys(network); !keys.empty()) {
    note("plumbline: note: " + printable(name_or_path) + ": not read: " + keys +
         "; the network computes as if the file did not say it");
  }
  return network;
}

}  // namespace plumb
