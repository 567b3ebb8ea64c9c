#include "models/pricing/known_books.hpp"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/plain_name.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "models/network/network_io.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostBooks = 4;
constexpr std::size_t kMostChoices = 256;  ///< most choices of a book, which is begun anew when it has more

struct KnownBook {
  std::string network;
  std::string cluster;
  std::shared_ptr<JobPriceBook> book;
};

/// Books in the order of their last use.
class Bookshelf {
 public:
  std::shared_ptr<JobPriceBook> find(const std::string& network, const std::string& cluster) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        books_, [&](const KnownBook& one) { return one.network == network && one.cluster == cluster; });
    if (found == books_.end()) return nullptr;
    if (found->book->choices() > kMostChoices) {
      books_.erase(found);
      return nullptr;
    }
    std::rotate(found, found + 1, books_.end());
    return books_.back().book;
  }

  void add(KnownBook book) {
    const std::lock_guard lock(mutex_);
    if (books_.size() == kMostBooks) books_.erase(books_.begin());
    books_.push_back(std::move(book));
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    books_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<KnownBook> books_;
};

Bookshelf& bookshelf() {
  static Bookshelf shelf;
  return shelf;
}

}  // namespace

std::shared_ptr<JobPriceBook> known_book(const std::string& network, const std::string& cluster) {
  const std::vector<std::string_view> networks = builtin_networks();
  const bool built_in = std::ranges::find(networks, network) != networks.end();
  const bool measured = plain_name(cluster).starts_with("host");
  if (!built_in || measured || is_document_path(cluster)) return nullptr;
  if (auto known = bookshelf().find(network, cluster)) return known;
  auto book = std::make_shared<JobPriceBook>(std::make_shared<const Network>(load_network(network)),
                                             std::make_shared<const Cluster>(load_cluster(cluster)));
  bookshelf().add({network, cluster, book});
  return book;
}

void release_known_books() { bookshelf().clear(); }

}  // namespace plumb
