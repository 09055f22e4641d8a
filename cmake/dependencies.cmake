# Every outside library, found once. The table in bootstrap has the package names per system.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(LIBUV REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(TREE_SITTER REQUIRED IMPORTED_TARGET tree-sitter)
pkg_check_modules(LIBEDIT REQUIRED IMPORTED_TARGET libedit)

if(LOOPSMITH_LLVM)
  find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
  # Linked statically, with only the targets that Loopsmith emits. Much of LLVM runs at the start of every program, for its options: the linker groups this code
  # together (`-z keep-text-section-prefix` in CMakePresets.json), so that a start touches fewer pages.
  llvm_map_components_to_libnames(LOOPSMITH_LLVM_LIBS
    core support orcjit orcdebugging orctargetprocess jitlink passes X86 AArch64 WebAssembly RISCV AMDGPU NVPTX)
  add_library(loopsmith_llvm INTERFACE)
  target_include_directories(loopsmith_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
  target_link_libraries(loopsmith_llvm INTERFACE ${LOOPSMITH_LLVM_LIBS})
endif()

if(LOOPSMITH_TESTS)
  find_package(Catch2 REQUIRED)
  find_package(benchmark QUIET)
endif()
