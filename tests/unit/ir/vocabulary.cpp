// The words for machines: the family of each thread axis or memory, and the agreement of the lists of words.
#include "ir/vocabulary.h"

#include <algorithm>

#include "../catch.h"

using namespace loopsmith;

TEST_CASE("thread axes") {
  CHECK(thread_axis("blockIdx.y")->family == ThreadFamily::Block);
  CHECK(thread_axis("blockIdx.y")->dimension == 1);
  CHECK(thread_axis("threadIdx.z")->dimension == 2);
  for (const char* tag : {"vthread", "vthread.x", "cthread"}) { CHECK(thread_axis(tag)->family == ThreadFamily::Virtual); }
  for (const char* tag : {"", "threadIdx", "threadIdx.w", "threadIdx.xy", "clusterIdx.x", "i"}) { CHECK_FALSE(thread_axis(tag)); }
  CHECK(is_thread_axis("threadIdx.x"));
  CHECK_FALSE(is_thread_axis("threadIdx2.x"));
  CHECK(is_block_axis("blockIdx.x"));
}

TEST_CASE("memories by the word that their scope begins with") {
  CHECK(is_global_memory(""));
  CHECK(is_global_memory("global.texture"));
  CHECK(is_shared_memory("shared.dyn"));
  CHECK(memory_family("wmma.matrix_a") == MemoryFamily::WmmaA);
  CHECK(memory_family("local") > memory_family("warp"));
  CHECK_FALSE(memory_family("globl"));
  // A suffix is a tag chosen by the program.
  CHECK(is_shared_memory("shared0"));
  CHECK(memory_family("local.mine") == MemoryFamily::Local);
}

TEST_CASE("words that are offered are words that are known") {
  auto is_in = [](std::string_view word, std::span<const std::string_view> words) { return std::find(words.begin(), words.end(), word) != words.end(); };
  for (std::string_view axis : bindable_axes()) {
    CHECK(is_in(axis, known_axes()));
    CHECK(thread_axis(axis));
  }
  for (std::string_view scope : usual_scopes()) {
    CHECK(is_in(scope, known_scopes()));
    CHECK(memory_family(scope));
  }
}

TEST_CASE("kinds of targets") {
  CHECK(kind_of_target("cuda -arch=sm_80") == "cuda");
  CHECK(is_gpu_target("cuda -arch=sm_80"));
  CHECK(is_gpu_target("metal"));
  CHECK_FALSE(is_gpu_target("llvm -mcpu=znver4"));
  CHECK_FALSE(is_gpu_target(""));
  CHECK(find_target_kind("rocm")->warp_size == 64);
  CHECK(find_target_kind("cudaa") == nullptr);
}
