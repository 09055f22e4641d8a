// The thread-level language of TVM's main line: kernels of threads, warps and tiles, with layouts and instructions of machines,
// `T.device_entry()`, `T.ptx.mbarrier.init(...)`, `T.TileLayout(T.S[8, 4])`.
//
// Its programs are read: names, numbers of values, shapes and types are checked. Its meaning changes with every release of TVM and is not
// modelled here, so such a program is neither analysed nor scheduled nor run.
#pragma once

#include <span>
#include <string_view>

#include "frontend/objects.h"

namespace loopsmith::frontend {

/// A word of the language for editors: a hover, a completion, a signature.
struct ThreadEntry {
  std::string_view name;         // as a member of `T`: "cta_id", "ptx"
  std::string_view signature;    // "(extents)"; empty: no function
  std::string_view summary;      // a sentence without full stop
};
[[nodiscard]] auto thread_entries() -> std::span<const ThreadEntry>;
/// Null: `T` has no such member in this language.
[[nodiscard]] auto find_thread_entry(std::string_view name) -> const ThreadEntry*;

/// A word, or a value made by one. Its members, items and sums are words too; a call in a program marks the program.
class ThreadWord final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Name path;               // "T.ptx.mbarrier.init"
  explicit ThreadWord(Name p) : Object(&type_tag), path(p) {}
  auto is_callable() const -> bool override { return true; }
  auto is_context() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override;
  auto get_attribute(Evaluator& e, Name name, Origin where) const -> std::optional<Value> override;
  auto set_attribute(Evaluator&, Name, const Argument&, Origin) const -> bool override { return true; }
  auto get_item(Evaluator& e, const std::vector<Argument>& indices, bool is_tuple, Origin where) const -> std::optional<Value> override;
  auto binary(Evaluator&, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
      -> std::optional<Value> override;
  auto compare(Evaluator&, syntax::CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
      -> std::optional<Value> override;
  auto repr() const -> std::string override { return path.str(); }
};

[[nodiscard]] auto thread_word(std::string_view path) -> Value;
/// The member of `T` with this name. None: the name is not a word of this language.
[[nodiscard]] auto thread_member(Name name) -> std::optional<Value>;
/// Records that the current program uses this language; does nothing outside of a program.
void note_thread_level(Evaluator& e, std::string_view word, Origin where);

}  // namespace loopsmith::frontend
