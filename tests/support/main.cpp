// Both, because the header may have been included before (captures_by_old_clang.hpp), and then derives neither.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
