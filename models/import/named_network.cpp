#include "models/import/named_network.hpp"

#include "models/ground/error.hpp"
#include "models/ground/file_kinds.hpp"
#include "models/ground/json_reader.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"

namespace plumb {

void fail_at_layers(const NamedNetwork& named, const std::string& message) {
  const std::string whose = "network '" + named.network.name + "': " + message;
  if (!is_document_path(named.asked)) throw Error(whose);
  const std::string text = read_text_file(named.asked, kNetworkFile);
  const bool is_document = text.find("\"plumbline-network\"") != std::string::npos;
  if (is_document) JsonDocument(text, named.asked).root().at("layers").fail(message);
  throw Error(printable(named.asked) + ": " + whose);
}

}  // namespace plumb
