#pragma once

// Included before every test source by clang below 16, which cannot capture a structured binding in a lambda, as
// doctest's CAPTURE does: there a failing check shows its own values only.

#include <doctest/doctest.h>

#undef CAPTURE
#define CAPTURE(x) static_cast<void>(x)
