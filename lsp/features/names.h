// What every name of a text stands for: the table behind definition, references, highlights, rename and semantic tokens.
//
// Names are found in the syntax alone, so they are known in texts that have errors too. In functions of the script language
// a name is looked up as in Python (one variable per function). In programs it belongs to the statement list that binds
// it, as in TIR: the `vi` of two blocks are two iter vars. Blocks are named by strings, in programs and in the schedules
// made for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/name.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

enum class EntityKind : uint8_t {
  Namespace,   // T, I, tir, ls, and imported names
  Class,
  Program,     // @T.prim_func
  Schedule,    // a schedule function
  Function,    // any other function
  Constant,    // a variable of the file
  Variable,    // a variable of a function
  Parameter,
  Buffer,
  Loop,        // a loop variable of a program
  Iter,        // an iter var of a block
  Block,       // by its name, a string
};

/// What is known of an entity from its binding in the text.
enum class Trait : uint16_t {
  Spatial = 1 << 0,
  Reduction = 1 << 1,
  Parallel = 1 << 2,
  Vectorized = 1 << 3,
  Unrolled = 1 << 4,
  ThreadBound = 1 << 5,
  LocalScope = 1 << 6,    // a buffer that is not in global memory
};

struct Entity {
  Name name;
  EntityKind kind{};
  uint16_t traits = 0;          // of Trait
  DeclId function = 0;          // the innermost declaration that binds it; 0: the file, or nobody
  /// Only what the text binds can be renamed; a name may also be predeclared, or not known at all.
  bool is_bound = false;
  [[nodiscard]] auto has(Trait trait) const -> bool { return (traits & static_cast<uint16_t>(trait)) != 0; }
};

enum class Role : uint8_t { Bind, Read, Write };

struct Occurrence {
  Span span;                    // of the name; of a string's contents
  uint32_t entity = 0;          // in NameTable::entities
  Role role{};
};

struct NameTable {
  std::vector<Entity> entities;
  std::vector<Occurrence> occurrences;   // in the order of the text; they do not overlap

  [[nodiscard]] auto at(uint32_t offset) const -> const Occurrence*;
};

[[nodiscard]] auto names_of(const workspace::Snapshot& snapshot) -> NameTable;
/// Those that can be written in a declaration: what it binds itself, and of the others what the file has of them. As long as the declaration,
/// not as the file. `item`: one of the snapshot's; null: none.
[[nodiscard]] auto names_in_reach(const workspace::Snapshot& snapshot, const syntax::PlacedItem* item) -> NameTable;

/// Where the name at an offset was bound: the nearest binding above in the same function, else the first. Itself, where
/// it is a binding.
[[nodiscard]] auto definition(const workspace::Snapshot& snapshot, uint32_t offset) -> std::optional<Span>;

/// All places of what is named at an offset; empty where there is no name.
[[nodiscard]] auto references(const workspace::Snapshot& snapshot, uint32_t offset) -> std::vector<Occurrence>;

/// What a rename would change, or why it cannot be done, in words.
struct Rename {
  std::vector<Span> places;
  std::string problem;
};
[[nodiscard]] auto rename(const workspace::Snapshot& snapshot, uint32_t offset, std::string_view name) -> Rename;
/// The name at an offset, where it can be renamed.
[[nodiscard]] auto renameable(const workspace::Snapshot& snapshot, uint32_t offset) -> std::optional<Span>;

}  // namespace loopsmith::lsp
