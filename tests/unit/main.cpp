// The main program of every unit test: Catch2's own, compiled once. Estimates are for the same core on every machine (cost/estimate.h).
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include <cstdlib>

auto main(int argc, char** argv) -> int {
  setenv("LOOPSMITH_TEST_CORE", "1", 0);
  return Catch::Session().run(argc, argv);
}
