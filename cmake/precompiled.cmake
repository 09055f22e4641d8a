# loopsmith_precompile(): precompiles the headers that most sources of a room include, once per build.
#
# A full build then takes less than half of the time. Sources include the headers either way: `-DLOOPSMITH_PRECOMPILED=OFF` builds
# without. Each set contains the smaller one: first the headers of other libraries, then those of the rooms that all higher rooms
# use. A target gets the largest set whose room it lists. A set must contain only headers that nearly all of these sources include: an edit of
# one compiles every target with the set again.
#
# The compiler cache hits across folders (measure with `ccache -s`): `precompile` gives it a checksum that names no folder, and sources read
# the compiled header alone, whose path the cache makes relative.
set(loopsmith_headers_libraries
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstdlib> <cstring> <deque> <fstream> <functional>
  <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <sstream> <string> <string_view> <thread>
  <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>)
set(loopsmith_headers_ir ${loopsmith_headers_libraries}
  compiler/support/cancel.h compiler/support/diagnostic.h compiler/ir/ir.h compiler/ir/visitor.h)
set(loopsmith_headers_schedule ${loopsmith_headers_ir}
  compiler/schedule/primitive.h compiler/schedule/rewrite.h compiler/schedule/schedule.h)
set(loopsmith_headers_script ${loopsmith_headers_schedule}
  compiler/eval/evaluator.h compiler/frontend/file.h compiler/script/run.h)
set(loopsmith_headers_workspace ${loopsmith_headers_script}
  compiler/script/schedules.h compiler/workspace/selection.h compiler/workspace/snapshot.h)
set(loopsmith_header_sets workspace script schedule ir libraries)   # the largest first

# Position-independent, so that programs and libraries can share a set.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
# CMake's own options also include the header by an absolute path, which would prevent hits of the compiler cache.
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)

function(loopsmith_precompile)
  foreach(set ${loopsmith_header_sets})
    set(bearer ${CMAKE_BINARY_DIR}/precompiled_${set}.cpp)
    file(CONFIGURE OUTPUT ${bearer} CONTENT "// The bearer of the precompiled headers.\n")
    add_library(loopsmith_headers_${set} OBJECT ${bearer})
    target_include_directories(loopsmith_headers_${set} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/compiler)
    target_link_libraries(loopsmith_headers_${set} PRIVATE loopsmith_flags fmt::fmt nlohmann_json::nlohmann_json)
    target_precompile_headers(loopsmith_headers_${set} PRIVATE ${loopsmith_headers_${set}})
    target_compile_options(loopsmith_headers_${set} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    set_target_properties(loopsmith_headers_${set} PROPERTIES
      CXX_COMPILER_LAUNCHER "${CMAKE_SOURCE_DIR}/cmake/precompile;${CMAKE_SOURCE_DIR};${CMAKE_BINARY_DIR}")
  endforeach()
  loopsmith_precompile_folder(${CMAKE_SOURCE_DIR})
endfunction()

# The set for a target: that of the highest room that it is or lists. `eval` and `analysis` open the namespace of the syntax tree, whose classes have the names
# of those of `ir`.
function(loopsmith_header_set TARGET RESULT)
  get_target_property(rooms ${TARGET} LINK_LIBRARIES)
  set(${RESULT} libraries PARENT_SCOPE)
  if("${TARGET}" MATCHES "^loopsmith_(eval|analysis)$")
    return()
  endif()
  foreach(set workspace script schedule ir)
    if("${TARGET}" STREQUAL loopsmith_${set} OR loopsmith_${set} IN_LIST rooms)
      set(${RESULT} ${set} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(loopsmith_precompile_folder FOLDER)
  get_property(targets DIRECTORY ${FOLDER} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(sources ${target} SOURCES)
    get_target_property(options ${target} COMPILE_OPTIONS)
    if(NOT type MATCHES "^(STATIC_LIBRARY|OBJECT_LIBRARY|EXECUTABLE)$" OR NOT sources MATCHES "\\.cpp" OR target MATCHES "^loopsmith_headers_" OR options MATCHES "-O|-fsanitize=fuzzer")
      continue()
    endif()
    loopsmith_header_set(${target} set)
    target_precompile_headers(${target} REUSE_FROM loopsmith_headers_${set})
    # The definitions that the headers were compiled with, for every target that uses them.
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
  endforeach()
  get_property(folders DIRECTORY ${FOLDER} PROPERTY SUBDIRECTORIES)
  foreach(folder ${folders})
    loopsmith_precompile_folder(${folder})
  endforeach()
endfunction()
