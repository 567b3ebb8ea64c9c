#include "tools/options/network_argument.hpp"

#include "models/ground/error.hpp"
#include "models/ground/file_kinds.hpp"
#include "models/ground/json_reader.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "models/import/model_config.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {

Network network_argument(const std::string& name_or_path) {
  Network network = load_network(name_or_path);
  if (const std::string keys = unread_keys(network); !keys.empty()) {
    note("plumbline: note: " + printable(name_or_path) + ": not read: " + keys +
         "; the network computes as if the file did not say it");
  }
  return network;
}

void fail_at_layers(const NamedNetwork& named, const std::string& message) {
  const std::string whose = "network '" + named.network.name + "': " + message;
  if (!is_document_path(named.asked)) throw Error(whose);
  const std::string text = read_text_file(named.asked, kNetworkFile);
  const bool is_document = text.find("\"plumbline-network\"") != std::string::npos;
  if (is_document) JsonDocument(text, named.asked).root().at("layers").fail(message);
  throw Error(printable(named.asked) + ": " + whose);
}

}  // namespace plumb
