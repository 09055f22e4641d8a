// Includes Catch2: version 2 (Debian 12) has a single header, version 3 has several.
#pragma once
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/catch_approx.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
