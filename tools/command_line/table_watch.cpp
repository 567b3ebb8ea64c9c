#include "tools/command_line/table_watch.hpp"

#include <utility>

namespace plumb {
namespace {

const TableWatch::See* watching = nullptr;

}  // namespace

TableWatch::TableWatch(See see) : see_(std::move(see)), outer_(std::exchange(watching, &see_)) {}

TableWatch::~TableWatch() { watching = outer_; }

const TableWatch::See* TableWatch::current() { return watching; }

}  // namespace plumb
