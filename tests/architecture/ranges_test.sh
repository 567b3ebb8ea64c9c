#!/usr/bin/env bash
# ranges.py itself: everything that clang 14 cannot compile is found, and nothing else.
set -euo pipefail
check=$(cd -- "$(dirname -- "$0")" && pwd)/ranges.py
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
mkdir sim

# expect LINE...: the check finds these lines and no others.
expect() {
  local status=0 output
  output=$("$check" "$tree") || status=$?
  [ "$status" = $(($# > 0)) ] || { echo "$output" && echo "expected status $(($# > 0)), got $status" && exit 1; }
  diff <(printf '%s\n' "$@") <(printf '%s\n' "$output") || { echo "expected < and got >" && exit 1; }
}

cat >sim/fine.cpp <<'END'
// std::ranges::unique(list) in a comment, /* views::iota */
/* and std::ranges::remove(list, 1)
   over two lines */
const char* text = "std::views::reverse";
auto a = std::ranges::partition_point(list, small);
auto b = std::ranges::unique_copy(list, out), c = std::ranges::remove_copy_if(list, out, small);
auto d = std::ranges::rotate_copy(list, middle, out), e = std::ranges::partition_copy(list, out, out, small);
auto f = std::unique(list.begin(), list.end());
auto g = ranges::remover(list), h = ranges::is_partitioned(list, small), i = views.begin();
std::span<const int> views;
for (int one : std::views::counted(list.begin(), 2)) sum += one;
END
touch sim/empty.hpp
expect

cat >sim/faults.cpp <<'END'
list.erase(std::ranges::unique(list).begin(), list.end());
auto a = std::ranges::remove(list, 1).begin(); auto b = ranges::remove_if(list, small);
(void)std::ranges::partition(list, small);  // std::ranges::rotate in a comment
(void)std::ranges::stable_partition(list, small);
/* one
   two */ std::ranges::rotate(list, list.begin() + 1);
auto c = std::ranges::search(list, part), d = std::ranges::search_n(list, 2, 1);
auto e = std::ranges::find_end(list, part);
for (const int one : std::ranges::equal_range(list, 3)) sum += one;
for (const int one : std::ranges::
         subrange(begin, end)) sum += one;
END
cat >sim/faults.hpp <<'END'
for (const int one : std::views::reverse(list)) sum += one;
for (const int one : list | std::ranges::views::drop(1)) sum += one;
for (const int one : list | views::transform(twice)) sum += one;
for (const int one : std::ranges::iota_view(0, 3)) sum += one;
namespace views = std::views;
END
echo 'int a = std::ranges::unique(list).size();' >sim/device.cu
readonly by='clang 14 cannot compile'
readonly view='instead: a loop, or std::span with first, last and subspan'
expect \
  "sim/faults.cpp:1: $by std::ranges::unique, instead: std::unique(begin, end)" \
  "sim/faults.cpp:2: $by std::ranges::remove, instead: std::erase(container, value)" \
  "sim/faults.cpp:2: $by ranges::remove_if, instead: std::erase_if(container, predicate)" \
  "sim/faults.cpp:3: $by std::ranges::partition, instead: std::partition(begin, end, predicate)" \
  "sim/faults.cpp:4: $by std::ranges::stable_partition, instead: std::stable_partition(begin, end, predicate)" \
  "sim/faults.cpp:6: $by std::ranges::rotate, instead: std::rotate(begin, middle, end)" \
  "sim/faults.cpp:7: $by std::ranges::search, instead: std::search(begin, end, part_begin, part_end)" \
  "sim/faults.cpp:7: $by std::ranges::search_n, instead: std::search_n(begin, end, count, value)" \
  "sim/faults.cpp:8: $by std::ranges::find_end, instead: std::find_end(begin, end, part_begin, part_end)" \
  "sim/faults.cpp:9: $by std::ranges::equal_range, instead: std::equal_range(begin, end, value)" \
  "sim/faults.cpp:10: $by std::ranges::subrange, instead: std::span, or two iterators" \
  "sim/faults.hpp:1: $by std::views::reverse, $view" \
  "sim/faults.hpp:2: $by std::ranges::views::drop, $view" \
  "sim/faults.hpp:3: $by views::transform, $view" \
  "sim/faults.hpp:4: $by std::ranges::iota_view, $view" \
  "sim/faults.hpp:5: $by std::views, $view"
echo "everything that clang 14 cannot compile is found"
