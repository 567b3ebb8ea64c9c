// A stand-in for NCCL, as a library of the same name: the functions that the trainer calls, on the memory of the host.
// A communicator of two is a socket, between threads of a process or between processes of a machine. Stricter than the
// real one: a send ends when its receiver has everything, and a receive of another size is an error.
//
// What goes wrong is said by `fake_nccl_plan`, or in the environment (PLUMB_FAKE_NCCL): "send 3 fail" is the third
// send of this process. fail: returns an error, and the link is gone; hang: never returns; later: never returns, and
// the error is told when it is asked for.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "trainer/links/nccl_library.hpp"

using plumb::nccl::Communicator;
using plumb::nccl::Config;
using plumb::nccl::Result;
using plumb::nccl::UniqueId;

namespace plumb::nccl {
struct OpaqueCommunicator {
  int socket = -1;
  std::atomic<bool> aborted = false;
  std::atomic<Result> error = Result::kSuccess;
};
}  // namespace plumb::nccl

namespace {

constexpr int kPatienceMs = 30'000;
constexpr int kHeadStartUs = 100'000;  ///< others learn of a failure before the caller that has it

struct World {
  std::mutex mutex;
  std::map<std::string, int> listeners;  ///< by name
  std::vector<std::unique_ptr<plumb::nccl::OpaqueCommunicator>> communicators;
  std::map<std::string, int> calls;  ///< by function
  std::string function;              ///< what goes wrong, ...
  int number = 0;
  std::string how;
  std::atomic<bool> broken = false;  ///< a link could not be made
};

void plan(World& world, const std::string& text) {
  world.calls.clear();
  world.function.clear();
  world.how.clear();
  world.broken = false;
  std::istringstream(text) >> world.function >> world.number >> world.how;
}

World& the_world() {
  static World world;
  static const bool planned = [] {
    const char* text = std::getenv("PLUMB_FAKE_NCCL");
    if (text != nullptr) plan(world, text);
    return true;
  }();
  static_cast<void>(planned);
  return world;
}

/// How this call goes wrong; empty: it does not.
std::string next_call(const std::string& function) {
  World& world = the_world();
  const std::scoped_lock lock(world.mutex);
  const int number = ++world.calls[function];
  return world.function == function && world.number == number ? world.how : "";
}

sockaddr_un address_of(const UniqueId& id) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy_n(id.internal.begin(), 64, address.sun_path + 1);  // no file
  return address;
}

bool write_all(int socket, const void* data, std::size_t size) {
  const auto* at = static_cast<const std::byte*>(data);
  while (size > 0) {
    const ssize_t written = send(socket, at, size, MSG_NOSIGNAL);
    if (written <= 0) return false;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int socket, void* data, std::size_t size) {
  auto* at = static_cast<std::byte*>(data);
  while (size > 0) {
    const ssize_t got = recv(socket, at, size, 0);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

Result gone(Communicator link) {
  const Result error = link->aborted ? Result::kInternalError : Result::kRemoteError;
  link->error = error;
  return error;
}

Result go_wrong(Communicator link, const std::string& how) {
  if (how == "fail") {
    shutdown(link->socket, SHUT_RDWR);
    return Result::kSystemError;
  }
  if (how == "later") link->error = Result::kSystemError;
  while (!link->aborted) usleep(1000);
  return Result::kInternalError;
}

int accepted(int listener) {
  for (int waited_ms = 0; waited_ms < kPatienceMs && !the_world().broken; waited_ms += 10) {
    pollfd ready{.fd = listener, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, 10) == 1) return accept(listener, nullptr, nullptr);
  }
  return -1;
}

int connected(const UniqueId& id) {
  const int made = socket(AF_UNIX, SOCK_STREAM, 0);
  const sockaddr_un address = address_of(id);
  if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return made;
  close(made);
  return -1;
}

int listener_of(const UniqueId& id) {
  World& world = the_world();
  const std::scoped_lock lock(world.mutex);
  return world.listeners.at(id.internal.data());
}

}  // namespace

extern "C" {

void fake_nccl_plan(const char* text) {
  World& world = the_world();
  const std::scoped_lock lock(world.mutex);
  plan(world, text);
}

/// Since the plan.
int fake_nccl_calls(const char* function) {
  World& world = the_world();
  const std::scoped_lock lock(world.mutex);
  return world.calls[function];
}

Result ncclGetVersion(int* version) {
  *version = 22809;
  return Result::kSuccess;
}

const char* ncclGetErrorString(Result result) {
  return result == Result::kRemoteError ? "remote process exited or there was a network error"
                                        : "unhandled system error";
}

const char* ncclGetLastError(Communicator) { return "it was planned"; }

Result ncclGetUniqueId(UniqueId* id) {
  static std::atomic<int> number = 0;
  const std::string name = "plumbline-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  *id = {};
  std::copy(name.begin(), name.end(), id->internal.begin());
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  const sockaddr_un address = address_of(*id);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 || listen(listener, 1) != 0) {
    close(listener);
    return Result::kSystemError;
  }
  World& world = the_world();
  const std::scoped_lock lock(world.mutex);
  world.listeners[name] = listener;
  return Result::kSuccess;
}

Result ncclCommInitRankConfig(Communicator* made, int size, UniqueId id, int rank, Config* config) {
  if (size != 2 || config->size < sizeof(Config) || config->magic != Config().magic) return Result::kInvalidArgument;
  const std::string how = next_call("connect");
  if (how == "fail") {
    the_world().broken = true;
    usleep(kHeadStartUs);
    close(rank == 0 ? listener_of(id) : connected(id));
    return Result::kSystemError;
  }
  const int socket = rank == 0 ? accepted(listener_of(id)) : connected(id);
  if (rank == 0) close(listener_of(id));
  if (socket < 0) return Result::kRemoteError;
  World& world = the_world();
  const std::scoped_lock lock(world.mutex);
  *made = world.communicators.emplace_back(std::make_unique<plumb::nccl::OpaqueCommunicator>()).get();
  (*made)->socket = socket;
  return Result::kSuccess;
}

Result ncclCommDestroy(Communicator link) {
  close(link->socket);
  return Result::kSuccess;
}

Result ncclCommAbort(Communicator link) {
  link->aborted = true;
  shutdown(link->socket, SHUT_RDWR);
  return Result::kSuccess;
}

Result ncclCommGetAsyncError(Communicator link, Result* error) {
  *error = link->error;
  return Result::kSuccess;
}

Result ncclGroupStart() { return Result::kSuccess; }
Result ncclGroupEnd() { return Result::kSuccess; }

Result ncclSend(const void* from, std::size_t count, int, int peer, Communicator link, void*) {
  if (peer != 1) return Result::kInvalidArgument;
  const std::string how = next_call("send");
  if (!how.empty()) return go_wrong(link, how);
  std::uint64_t expected = 0;
  if (!read_all(link->socket, &expected, sizeof(expected))) return gone(link);
  if (expected != count) return Result::kInvalidUsage;
  char received = 0;
  if (!write_all(link->socket, from, count) || !read_all(link->socket, &received, 1)) return gone(link);
  return Result::kSuccess;
}

Result ncclRecv(void* to, std::size_t count, int, int peer, Communicator link, void*) {
  if (peer != 0) return Result::kInvalidArgument;
  const std::string how = next_call("receive");
  if (!how.empty()) return go_wrong(link, how);
  const std::uint64_t expected = count;
  const char received = 1;
  const bool all = write_all(link->socket, &expected, sizeof(expected)) && read_all(link->socket, to, count) &&
                   write_all(link->socket, &received, 1);
  return all ? Result::kSuccess : gone(link);
}
}
