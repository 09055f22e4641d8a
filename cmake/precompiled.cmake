# loopsmith_precompile(): the headers of others that most sources read, compiled once per build (option LOOPSMITH_PRECOMPILED).
#
# For builds from nothing, where it saves a third of the time. Off for everyday work: the compiler cache cannot share between
# folders what was compiled with it. Sources include what they use either way.
set(loopsmith_headers
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstdlib> <cstring> <deque> <fstream> <functional>
  <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <sstream> <string> <string_view> <thread>
  <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>)

# What is precompiled serves programs and libraries alike.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})

function(loopsmith_precompile)
  set(bearer ${CMAKE_BINARY_DIR}/precompiled.cpp)
  file(CONFIGURE OUTPUT ${bearer} CONTENT "// The bearer of the precompiled headers.\n")
  add_library(loopsmith_headers OBJECT ${bearer})
  target_link_libraries(loopsmith_headers PRIVATE loopsmith_flags fmt::fmt nlohmann_json::nlohmann_json)
  target_precompile_headers(loopsmith_headers PRIVATE ${loopsmith_headers})
  loopsmith_precompile_folder(${CMAKE_SOURCE_DIR})
endfunction()

function(loopsmith_precompile_folder FOLDER)
  get_property(targets DIRECTORY ${FOLDER} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(sources ${target} SOURCES)
    get_target_property(options ${target} COMPILE_OPTIONS)
    if(NOT type MATCHES "^(STATIC_LIBRARY|OBJECT_LIBRARY|EXECUTABLE)$" OR NOT sources MATCHES "\\.cpp" OR target MATCHES "^loopsmith_headers$" OR options MATCHES "-O|-fsanitize=fuzzer")
      continue()
    endif()
    target_precompile_headers(${target} REUSE_FROM loopsmith_headers)
    # What the headers were compiled with, wherever they are read.
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
  endforeach()
  get_property(folders DIRECTORY ${FOLDER} PROPERTY SUBDIRECTORIES)
  foreach(folder ${folders})
    loopsmith_precompile_folder(${folder})
  endforeach()
endfunction()
