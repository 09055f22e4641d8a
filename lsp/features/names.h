// What every name of a text stands for: the table behind definition, references, highlights, rename and semantic tokens.
//
// Names are found in the syntax alone, so they are known in texts that have errors too. In functions of the script language
// a name is looked up as in Python (one variable per function). In programs it belongs to the statement list that binds
// it, as in TIR: the `vi` of two blocks are two iter vars. Blocks are named by strings, in programs and in the schedules
// made for them, which may take such a string from a list or a constant, and their program from a function that makes it. What a string means also
// hangs on the function of the module that the schedule works on then; where that is not known, a name that several have is told as unclear. Of what is imported the table keeps how it was written; `across.h` finds the files that are meant.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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

/// What is known of an entity from its binding in the text; of a loop, Spatial and Reduction are what blocks bind it to.
enum class Trait : uint16_t {
  Spatial = 1 << 0,
  Reduction = 1 << 1,
  Parallel = 1 << 2,
  Vectorized = 1 << 3,
  Unrolled = 1 << 4,
  ThreadBound = 1 << 5,
  LocalScope = 1 << 6,    // a buffer that is neither in global memory nor in one of the next two
  SharedScope = 1 << 7,
  WarpScope = 1 << 8,
};

/// An index that is none.
constexpr uint32_t nowhere = UINT32_MAX;

/// What an import names, as it is written: `from .kernels import matmul` is level 1 and {kernels, matmul}, and so is `kernels.matmul` behind
/// `from . import kernels`.
struct Imported {
  uint32_t level = 0;           // leading dots
  std::vector<Name> path;       // of modules, then of what is in the last one; how many are modules only files tell
};

/// The function of its module that a schedule works on: the one it begins with, the one that it was told, or some one.
struct WorksOn {
  enum class What : uint8_t { Start, Named, Unknown };
  What what = What::Start;
  Name function;                // Named
  auto operator==(const WorksOn&) const -> bool = default;
};

/// What has a program for a value: `kernel`, or `make(16)`.
struct Giving {
  uint32_t entity = nowhere;    // in NameTable::entities
  bool is_call = false;
};

struct Entity {
  Name name;
  EntityKind kind{};
  uint16_t traits = 0;          // of Trait
  DeclId function = 0;          // the innermost declaration that binds it; 0: the file, or nobody
  /// Only what the text binds can be renamed; a name may also be predeclared, or not known at all.
  bool is_bound = false;
  bool is_alias = false;        // `m` of `import matmul as m`: a name of this file alone
  uint32_t imported = nowhere;  // in NameTable::imports
  uint32_t program = nowhere;   // of a block: the entity whose block it is
  [[nodiscard]] auto has(Trait trait) const -> bool { return (traits & static_cast<uint16_t>(trait)) != 0; }
};

enum class Role : uint8_t { Bind, Read, Write };

struct Occurrence {
  Span span;                    // of the name; of a string's contents
  uint32_t entity = 0;          // in NameTable::entities
  Role role{};
};

struct NameTable {
  using Names = std::unordered_map<Name, uint32_t>;
  /// A name in the text that no entity of the file stands for: `matmul` in `kernels.matmul` or in `import matmul as m`.
  struct Member {
    Span span;
    uint32_t imported = nowhere;
    bool is_import = false;     // in the import itself
  };
  /// A string in a schedule for a program of another file: a block's name, where that program has such a block. One that is used in several
  /// schedules is there for each.
  struct PossibleBlock {
    Span span;                  // of its contents
    uint32_t imported = nowhere;
    bool is_call = false;       // the program is what a call of it gives
    WorksOn where;
  };
  /// A string that may name any of several blocks.
  struct Unclear {
    Span span;                  // of its contents
    std::vector<uint32_t> entities;
  };

  std::vector<Entity> entities;
  std::vector<Occurrence> occurrences;   // in the order of the text; they do not overlap
  Names of_file;                         // what other files can import
  std::unordered_map<uint32_t, Names> of_classes;
  std::unordered_map<uint32_t, Names> of_programs;   // blocks
  /// What variables are assigned and functions give back, where that can be a program.
  std::unordered_map<uint32_t, std::vector<Giving>> gives;
  std::vector<Imported> imports;
  std::vector<Member> members;
  std::vector<PossibleBlock> possible_blocks;
  std::vector<Unclear> unclear;
  std::vector<Imported> stars;           // the modules of `from kernels import *`

  [[nodiscard]] auto at(uint32_t offset) const -> const Occurrence*;
  /// The programs and modules of this file that something has for a value. Of others, `outside` is told the import, and whether it is called.
  void programs_of(Giving value, const std::function<void(uint32_t)>& found, const std::function<void(uint32_t, bool)>& outside) const;
  /// The blocks of that name in a program, or in the functions of a module that may be meant.
  [[nodiscard]] auto blocks_of(uint32_t program, const WorksOn& where, Name block) const -> std::vector<uint32_t>;
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
/// Why places of an entity cannot have another name; empty: they can. `is_block`: it is the name of a block.
[[nodiscard]] auto not_a_name(std::string_view name, bool is_block) -> std::string;
/// Why a string stands against a rename: it may name a block of any of these functions. `other`: the name of the file, if it is not the one that is
/// looked at.
[[nodiscard]] auto unclear_text(std::string_view block, std::vector<std::string> functions, bool is_one_module, uint32_t line, std::string_view other = {}) -> std::string;
[[nodiscard]] auto in_the_way(const workspace::Snapshot& snapshot, const NameTable& names, const std::vector<Span>& places, std::string_view name, bool is_block) -> std::string;
/// The name at an offset, where it can be renamed.
[[nodiscard]] auto renameable(const workspace::Snapshot& snapshot, uint32_t offset) -> std::optional<Span>;

}  // namespace loopsmith::lsp
