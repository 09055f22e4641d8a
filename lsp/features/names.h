// The table of names: each name in a text with its entity. Definition, references, highlights, rename and semantic tokens use it.
//
// Names are found in the syntax alone, so texts with errors have a table, too. In functions of the script language
// a name is looked up as in Python (one variable per function). In programs a name belongs to the statement list that binds
// it, as in TIR: the `vi` of two blocks are two iter vars. Blocks are named by strings, in programs and in the schedules
// for them. A schedule may read such a string from a list or a constant, and its program from a function. The meaning of a string also depends
// on the function of the module that the schedule works on at that place; if it is unknown, a name that several functions have is ambiguous. For
// imports the table has only the path in the text; cross_file_names.h finds the files.
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

/// Properties of an entity, by its binding in the text. A loop is Spatial or Reduction by the iter vars that blocks bind to it.
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

/// No index.
constexpr uint32_t nowhere = UINT32_MAX;

/// The path of an import as written: `from .kernels import matmul` has level 1 and path {kernels, matmul}, and so does `kernels.matmul` behind
/// `from . import kernels`.
struct Imported {
  uint32_t level = 0;           // leading dots
  std::vector<Name> path;       // modules, then names inside the last module; the boundary is known only from the files
};

/// The function of the module that a schedule works on: the initial one, the one that `work_on` named, or an unknown one.
struct WorksOn {
  enum class What : uint8_t { Start, Named, Unknown };
  What what = What::Start;
  Name function;                // for What::Named
  auto operator==(const WorksOn&) const -> bool = default;
};

/// An expression whose value is a program: `kernel`, or `make(16)`.
struct Giving {
  uint32_t entity = nowhere;    // in NameTable::entities
  bool is_call = false;
};

struct Entity {
  Name name;
  EntityKind kind{};
  uint16_t traits = 0;          // a set of Trait
  DeclId function = 0;          // the innermost declaration that binds it; 0: the file, or no declaration
  /// True for a name that the text binds; other names are predeclared or unknown, and cannot be renamed.
  bool is_bound = false;
  bool is_alias = false;        // `m` of `import matmul as m`: a name only in this file
  uint32_t imported = nowhere;  // in NameTable::imports
  uint32_t program = nowhere;   // of a block: the entity of its program
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
  /// A name in the text that belongs to another file: `matmul` in `kernels.matmul` or in `import matmul as m`.
  struct Member {
    Span span;
    uint32_t imported = nowhere;
    bool is_import = false;     // in the import itself
  };
  /// A string in a schedule for a program of another file: the name of a block, if that program has such a block. A string that several schedules
  /// use has an entry for each.
  struct PossibleBlock {
    Span span;                  // of its contents
    uint32_t imported = nowhere;
    bool is_call = false;       // the program is the result of a call
    WorksOn where;
  };
  /// A string that may name one of several blocks.
  struct Unclear {
    Span span;                  // of its contents
    std::vector<uint32_t> entities;
  };

  std::vector<Entity> entities;
  std::vector<Occurrence> occurrences;   // in the order of the text; they do not overlap
  Names of_file;                         // names that other files can import
  std::unordered_map<uint32_t, Names> of_classes;
  std::unordered_map<uint32_t, Names> of_programs;   // by program: its blocks
  /// By entity: the programs that a variable may hold, or a function may return.
  std::unordered_map<uint32_t, std::vector<Giving>> gives;
  std::vector<Imported> imports;
  std::vector<Member> members;
  std::vector<PossibleBlock> possible_blocks;
  std::vector<Unclear> unclear;
  std::vector<Imported> stars;           // the modules of `from kernels import *`

  [[nodiscard]] auto at(uint32_t offset) const -> const Occurrence*;
  /// Calls `found` for each program or module of this file that a value may be, and `outside` for those of other files, with the import and
  /// true if the program is the result of a call.
  void programs_of(Giving value, const std::function<void(uint32_t)>& found, const std::function<void(uint32_t, bool)>& outside) const;
  /// The blocks with a name in a program, or in the functions of a module that a schedule may work on.
  [[nodiscard]] auto blocks_of(uint32_t program, const WorksOn& where, Name block) const -> std::vector<uint32_t>;
};

[[nodiscard]] auto names_of(const workspace::Snapshot& snapshot) -> NameTable;
/// The names that can be used in a declaration: the names that it binds, and those of the file. The cost depends on the length of the declaration,
/// not of the file. `item`: an item of the snapshot; null: only names of the file.
[[nodiscard]] auto names_in_reach(const workspace::Snapshot& snapshot, const syntax::PlacedItem* item) -> NameTable;

/// The binding of the name at an offset: the nearest one above in the same function, or else the first. A binding is its own definition.
[[nodiscard]] auto definition(const workspace::Snapshot& snapshot, uint32_t offset) -> std::optional<Span>;

/// All places of the entity whose name is at an offset; empty: no name is there.
[[nodiscard]] auto references(const workspace::Snapshot& snapshot, uint32_t offset) -> std::vector<Occurrence>;

/// The places that a rename changes, or the reason why it is refused.
struct Rename {
  std::vector<Span> places;
  std::string problem;
};
[[nodiscard]] auto rename(const workspace::Snapshot& snapshot, uint32_t offset, std::string_view name) -> Rename;
/// The reason why a text cannot be a name; empty: it can. `is_block`: the name of a block.
[[nodiscard]] auto not_a_name(std::string_view name, bool is_block) -> std::string;
/// The reason for refusing a rename when a string may name a block of one of several functions. `other`: the file of the string, if it is
/// another one.
[[nodiscard]] auto unclear_text(std::string_view block, std::vector<std::string> functions, bool is_one_module, uint32_t line, std::string_view other = {}) -> std::string;
/// The reason why a new name would change its meaning at one of the places, or hide another entity; empty: none.
[[nodiscard]] auto in_the_way(const workspace::Snapshot& snapshot, const NameTable& names, const std::vector<Span>& places, std::string_view name, bool is_block) -> std::string;
/// The name at an offset, if it can be renamed.
[[nodiscard]] auto renameable(const workspace::Snapshot& snapshot, uint32_t offset) -> std::optional<Span>;

}  // namespace loopsmith::lsp
