// Vocabularies, and words that are nearly members of them: see words.h.
#include "frontend/words.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "ir/vocabulary.h"
#include "support/codes.h"

namespace loopsmith::frontend {
namespace {

struct Words { const char* kind; std::vector<Name> words; };

auto words_of(Vocabulary vocabulary) -> const Words& {
  auto names = [](std::span<const std::string_view> words) { return std::vector<Name>(words.begin(), words.end()); };
  static const Words axes{"a thread axis", names(known_axes())};
  static const Words scopes{"a storage scope", [&] {
    std::vector<Name> all = names(known_scopes());
    // Memories of the thread-level language.
    for (const char* more : {"tmem", "trn.sbuf", "trn.psum"}) { all.emplace_back(more); }
    return all;
  }()};
  static const Words loops{"an annotation of loops",
                           {"pragma_auto_unroll_max_step", "pragma_unroll_explicit", "pragma_loop_partition_hint", "pragma_unroll", "pragma_vectorize",
                            "pragma_import_c", "pragma_import_llvm", "pragma_debug_skip_region", "pragma_parallel_launch_point",
                            "pragma_parallel_stride_pattern", "pragma_parallel_barrier_when_finish", "pragma_tensor_core", "software_pipeline_stage",
                            "software_pipeline_order", "software_pipeline_async_stages", "disable_unroll", "irregular_loop_mark"}};
  static const Words blocks{"an annotation of blocks",
                            {"meta_schedule.tiling_structure", "meta_schedule.cooperative_fetch", "meta_schedule.thread_extent_low_inclusive",
                             "meta_schedule.thread_extent_high_inclusive", "meta_schedule.random_compute_producer", "meta_schedule.parallel",
                             "meta_schedule.vectorize", "meta_schedule.unroll_explicit", "meta_schedule.unroll_implicit", "meta_schedule.auto_tensorize",
                             "meta_schedule.auto_tensorize_init", "meta_schedule.layout_rewrite_preproc", "meta_schedule.inline_rule",
                             "meta_schedule.tensor_core_enabled", "meta_schedule.cache_type", "schedule_rule", "double_buffer_scope", "buffer_dim_align",
                             "warp_execution", "tir.manifest_shared_memory_local_stage", "layout_free_placeholders", "permuted_layout", "auto_copy",
                             "local_stage", "vector_bytes", "explicit_read_region", "explicit_write_region"}};
  static const Words functions{"an attribute of functions",
                               {"global_symbol", "tir.noalias", "tirx.noalias", "target", "calling_conv", "op_pattern", "layout_free_buffers",
                                "tir.is_entry_func", "tir.is_global_func", "tir.is_host_func", "tir.is_scheduled", "tir.kernel_launch_params"}};
  static const Words statements{"an attribute of statements",
                                {"thread_extent", "virtual_thread", "storage_alignment", "storage_scope", "realize_scope", "buffer_bind_scope",
                                 "double_buffer_scope", "double_buffer_write", "coproc_scope", "coproc_uop_scope", "device_scope", "device_id",
                                 "device_type", "reduce_scope", "volatile_scope", "extern_scope", "compute_scope", "prefetch_scope", "fragment_shape",
                                 "fragment_layout", "hand_threaded", "warp_execution", "async_commit_queue_scope", "async_wait_queue_scope",
                                 "async_wait_inflight_count", "async_scope", "pragma_auto_unroll_max_step", "pragma_unroll_explicit",
                                 "pragma_loop_partition_hint", "pragma_import_c", "pragma_import_llvm", "pragma_debug_skip_region",
                                 "pragma_parallel_launch_point", "pragma_parallel_stride_pattern", "pragma_parallel_barrier_when_finish"}};
  static const Words targets{"a kind of target", [] {
    std::vector<Name> kinds;
    for (const TargetKind& kind : target_kinds()) { kinds.emplace_back(kind.name); }
    return kinds;
  }()};
  switch (vocabulary) {
    case Vocabulary::ThreadAxis: return axes;
    case Vocabulary::StorageScope: return scopes;
    case Vocabulary::LoopAnnotation: return loops;
    case Vocabulary::BlockAnnotation: return blocks;
    case Vocabulary::FunctionAttribute: return functions;
    case Vocabulary::TargetKind: return targets;
    case Vocabulary::StatementAttribute: break;
  }
  return statements;
}

auto lower(std::string_view text) -> std::string {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}
auto without_digits(std::string_view text) -> std::string {
  std::string out(text);
  std::erase_if(out, [](unsigned char c) { return std::isdigit(c) != 0; });
  return out;
}

// A word with the older prefix `tir.` in place of `tirx.` and `s_tir.` of TVM's main line.
auto in_older_words(std::string_view word) -> std::string {
  for (std::string_view prefix : {"tirx.", "s_tir."}) {
    if (word.starts_with(prefix)) { return "tir." + std::string(word.substr(prefix.size())); }
  }
  return std::string(word);
}

// True for words that programs derive from known ones on purpose: numbered (`global0`, `vthread1`), prefixed (`kTarget`), or a scope with a
// tag (`global.pool`).
auto is_own(Vocabulary vocabulary, std::string_view word, Name near) -> bool {
  if (without_digits(word) == without_digits(near.view())) { return true; }
  if (word.size() > near.view().size() && lower(word).ends_with(lower(near.view())) && std::tolower(static_cast<unsigned char>(word[0])) != std::tolower(static_cast<unsigned char>(near.view()[0]))) { return true; }
  if (vocabulary != Vocabulary::StorageScope) { return false; }
  std::string_view head = word.substr(0, word.find('.'));
  return head.size() < word.size() && (head == "global" || head == "shared" || head == "local" || head == "warp");
}

}  // namespace

auto known_words(Vocabulary vocabulary) -> const std::vector<Name>& { return words_of(vocabulary).words; }

void check_word(Evaluator& evaluator, Vocabulary vocabulary, std::string_view word, Origin where) {
  const Words& known = words_of(vocabulary);
  std::string older = in_older_words(word);
  if (std::any_of(known.words.begin(), known.words.end(), [&](Name w) { return w.view() == word || w.view() == older; })) { return; }
  Name near;
  for (Name w : known.words) {
    if (lower(w.view()) == lower(word)) { near = w; }
  }
  if (near.empty()) { near = eval::closest_name(Name(word), known.words); }
  if (near.empty() || is_own(vocabulary, word, near)) { return; }
  evaluator.report(error(Code::MisspeltWord, where).arg("word", word).arg("kind", known.kind).arg("near", near.view()).remedy("did you mean `\"" + near.str() + "\"`?"));
}

void check_keys(Evaluator& evaluator, Vocabulary vocabulary, const AttrMap& attrs, Origin where) {
  for (const auto& [key, value] : attrs) { check_word(evaluator, vocabulary, key.view(), where); }
}

void place_word(Diagnostic& diagnostic, std::string_view text) {
  std::string_view word, near;
  for (const auto& [name, value] : diagnostic.args) {
    if (name == "word") { word = value; }
    if (name == "near") { near = value; }
  }
  Origin& at = diagnostic.where;
  if (at.end > text.size() || at.begin >= at.end) { return; }
  std::string_view within = text.substr(at.begin, at.end - at.begin);
  for (char quote : {'"', '\''}) {
    std::string literal = quote + std::string(word) + quote;
    size_t found = within.find(literal);
    if (found == std::string_view::npos) { continue; }
    at.begin += static_cast<uint32_t>(found);
    at.end = at.begin + static_cast<uint32_t>(literal.size());
    diagnostic.fixes = {{at, quote + std::string(near) + quote}};
    return;
  }
}

void modernise(Diagnostic& diagnostic, std::string_view text) {
  const Origin at = diagnostic.where;
  if (at.end > text.size() || at.begin >= at.end) { return; }
  std::string_view within = text.substr(at.begin, at.end - at.begin);
  auto part = [&](size_t begin, size_t end) { return Origin{at.decl, at.begin + static_cast<uint32_t>(begin), at.begin + static_cast<uint32_t>(end), at.step}; };
  auto call = [&](size_t open, std::string before, std::string after) {
    diagnostic.fixes = {{part(open, open + 1), std::move(before)}, {part(within.size() - 1, within.size()), std::move(after)}};
  };
  // For a call, replaces the name alone.
  if (within == "buffer_decl") { diagnostic.fixes = {{at, "Buffer"}}; }
  if (within == "Ptr" || within == "ptr") { diagnostic.fixes = {{at, "handle"}}; }
  if (within.starts_with("T.Ptr[") || within.starts_with("T.ptr[")) {
    call(5, "(", ")");
    diagnostic.fixes.insert(diagnostic.fixes.begin(), {part(2, 5), "handle"});
  }
  if (within.starts_with("T.Buffer[")) {
    bool is_list = std::ranges::any_of(diagnostic.args, [](const auto& arg) { return arg.second == "T.Buffer((...))"; });
    call(8, is_list ? "((" : "(", is_list ? "))" : ")");
  }
}

}  // namespace loopsmith::frontend
