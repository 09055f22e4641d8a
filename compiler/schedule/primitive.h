// The row of a primitive defines its script call, its form in traces (JSON and Python), completion, signature
// help, REPL help and its entry on the reference page.
//
// To add a primitive:
//  1. In its family's file under primitives/, write a struct with
//       - a comment: one sentence; before ==> after; "Needs"; "Keeps" (see fuse in loops.cpp, the model);
//       - `struct Args`: one member per parameter, of the types listed at `convert` below;
//       - `struct Plan`: the results of check() (loops found, extents, the region that is needed ...);
//       - `static auto check(const Context&, const Args&) -> Result<Plan>`: every legality rule, located errors
//         (`cx.error(Code::X).arg(..).at_node(id)`; codes are rows of support/diagnostics.def);
//       - `static auto apply(const Context&, const Args&, const Plan&) -> Outcome`: cannot fail. It returns the new nodes
//         for loops and blocks (`Rewrite`), and the outputs. New nodes take the origin
//         `cx.made_from(origin of the node they stand for)`. Loops and blocks that stay keep their id.
//  2. Define its row at the end of the file, parameters in the order of the Python call:
//       const Primitive fuse = primitive<Fuse>("fuse", "Fuse", "joins directly nested loops into one", {Order::Kept, Hidden::Harmless})
//           .inputs("loops", &Fuse::Args::loops).from(candidates::nested_loops)   // variadic: sch.fuse(i, j), JSON inputs spliced
//           .attr("preserve_unit_iters", &Fuse::Args::preserve_unit_iters, true)
//           .loop("fused")
//           .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")\nsch.fuse(i, j)");
//     `from` lists the arguments worth trying (candidates.h has the common lists): legal moves, completion and the random
//     gate use them. Blocks, loops, bools and parameters with a default need none.
//  3. Declare the row in primitives.h and name it in primitives/all.cpp; add golden cases in
//     tests/golden/schedule/<primitive>/.
// No more is needed: every call goes through the row, which checks first.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/intrinsics.h"
#include "schedule/random.h"
#include "schedule/state.h"
#include "schedule/value.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

struct Primitive;

/// The inputs of a primitive apart from its arguments.
struct Context {
  const State& state;
  const Primitive& primitive;
  Name func_working_on;
  Origin call;                              // the call in the schedule's text
  RandomEngine& random;
  const Value& decision;                    // None: sample
  /// The loop, block or number that a variable stands for.
  struct Binding { enum class Kind : uint8_t { Block, Loop, Int } kind = Kind::Int; uint64_t value = 0; Name func; };
  const Sequence<Binding>& variables;
  const std::vector<TensorIntrin>* own_intrinsics = nullptr;   // from the schedule's file; null: it has none
  int64_t most_vscale = 0;                                     // `T.vscale()` is 1, 2, 4 up to this; 0: unknown
  /// Gets warnings about a legal step that may still change results, in a way that no analysis decides (indices from the contents of buffers). Null: the caller
  /// shows none, so a primitive need not look for them.
  Diagnostics* doubts = nullptr;

  /// Finds an intrinsic by name, first among those of the schedule's file; null for an unknown name.
  [[nodiscard]] auto find_intrinsic(Name name) const -> const TensorIntrin*;
  [[nodiscard]] auto intrinsic_names() const -> std::vector<Name>;
  [[nodiscard]] auto error(Code code) const -> Diagnostic;
  /// The origin of a node that this call makes from a node with the origin `from`.
  [[nodiscard]] auto made_from(Origin from) const -> Origin { from.step = call.step; return from; }
};

/// A block or loop argument, resolved. Valid while the state lives.
struct PlaceArg {
  const FuncState* func = nullptr;
  const Place* place = nullptr;
  auto operator->() const -> const Place* { return place; }
  auto operator*() const -> const Place& { return *place; }
  explicit operator bool() const { return place != nullptr; }
};
struct BlockArg : PlaceArg { [[nodiscard]] auto block() const -> const Block& { return *place->block(); } };
struct LoopArg : PlaceArg { [[nodiscard]] auto loop() const -> const For& { return *place->loop; } };

/// The target of a placement: a loop, or one of the marks that `sample_compute_location` may return instead.
struct LocationArg : LoopArg {
  enum class Mark : uint8_t { Loop, Root, Inline };
  Mark mark = Mark::Loop;
  // The two marks, as ids in the table of variables.
  static constexpr NodeId root_mark = ~NodeId{0};
  static constexpr NodeId inline_mark = ~NodeId{1};
};

/// A buffer that a block accesses, given as its index among the reads or the writes.
struct BufferArg { bool is_write = false; int64_t index = 0; };
/// "read" or "write".
struct AccessArg { bool is_write = false; };

struct Output {
  Context::Binding::Kind kind = Context::Binding::Kind::Int;
  uint64_t value = 0;                       // NodeId, or a number's bits
  static auto block(NodeId id) -> Output { return {Context::Binding::Kind::Block, id}; }
  static auto loop(NodeId id) -> Output { return {Context::Binding::Kind::Loop, id}; }
  static auto integer(int64_t v) -> Output { return {Context::Binding::Kind::Int, static_cast<uint64_t>(v)}; }
};

/// The result of a primitive.
struct Outcome {
  Name func;                                // the function that changed; empty: none
  Rewrite rewrite;
  std::vector<Output> outputs;
  Value decision;                           // of a sampling primitive
};

/// The partly built call for which candidates are chosen: a loop or block of a function, and the arguments so far.
struct Choice {
  const State& state;
  const FuncState& func;
  const Place& focus;                       // the loop or block that the move is about
  std::span<const Value> chosen;            // for the parameters before this one

  /// Variable i stands for place i of the function.
  [[nodiscard]] static auto block(const Place& p) -> Value { return BlockRV{static_cast<uint32_t>(p.index)}; }
  [[nodiscard]] static auto loop(const Place& p) -> Value { return LoopRV{static_cast<uint32_t>(p.index)}; }
  /// The loop or block that an argument stands for; null for other values.
  [[nodiscard]] auto place(const Value& value) const -> const Place*;
  /// The first loop or block among the arguments before; else the focus.
  [[nodiscard]] auto subject() const -> const Place&;
};
/// Arguments worth trying. Some may be illegal.
using Candidates = std::vector<Value> (*)(const Choice&);

enum class ValueKind : uint8_t {
  Block, Loop, BlockOrLoop, Int, OptionalInt, Bool, Float, String, IndexMap, Any,
  Buffer,                                   // ("read", 0), ("write", 1); scripts may name it: "A"; two numbers in JSON
  Access,                                   // "read" or "write"; a number in JSON
};
/// The inputs of an index map: the block's iter vars (mapped to indices, or to ranges), the indices of the buffer argument before it, or
/// the results of the map before it.
enum class MapOf : uint8_t { Iters, Ranges, Buffer, Image };
/// The part of an instruction in a trace that holds the parameter.
enum class Role : uint8_t { Input, Attr, Decision };

struct Param {
  std::string_view name;
  ValueKind kind = ValueKind::Any;
  Role role = Role::Input;
  bool is_list = false;
  bool is_spliced = false;                  // in JSON the items stand among the inputs
  bool is_variadic = false;                 // in Python, too: sch.reorder(i, j)
  bool omit_empty = false;                  // Python text omits it if it is empty or None
  MapOf map_of = MapOf::Iters;              // for index maps
  std::string_view index_of = {};           // "read", "write": the parameter is the index of such a buffer; scripts may give its name instead
  std::string_view traced_as = {};          // its name in the Python text of traces, if TVM writes another name there
  std::optional<Value> otherwise;           // the default; without one the argument is required
  Candidates candidates = nullptr;          // null: they follow from the kind (moves.h)
};

enum class OutputKind : uint8_t { None, Block, Loop, Expr, Blocks, Loops, Exprs };

/// The effect of a call on the order of statements, for `require_nothing_between`: statements outside of blocks have no dependences that
/// check() could ask for.
enum class Order : uint8_t {
  Untouched,                                // no statement moves: look-ups, annotations, scopes of buffers
  Kept,                                     // the statements of each loop keep their order, or check() compares the plain ones itself
  LoopsReshaped,                            // the loops around a block change, so they must contain blocks only
  Merged,                                   // the blocks below one loop move below another
  Changed,                                  // any other change
};

/// The accesses in hiding blocks (hidden.h) that a call must not meet. A set, joined by `|`. Dependences come from declared accesses, so check()
/// does not see these.
enum class Hidden : uint16_t {
  Harmless = 0,                             // accesses keep their order, or check() calls the functions of hidden.h itself
  MovesBlock = 1,                           // a block moves, vanishes or becomes several: its order with its siblings
  GathersBelow = 2,                         // everything below a loop becomes one block, or moves
  ReordersIterations = 4,                   // iterations of a loop, or instances of a block, run in another order or at the same time
  RedirectsAccesses = 8,                    // accesses of one buffer go to another one, or take another form
  // With MovesBlock:
  StaysInLoops = 16,                        // only the loops around the block change, and no buffer that it shares with others
  TrustsRegions = 32,                       // relies on the accesses that the block declares
  ChangesBuffer = 64,                       // a buffer of the scope vanishes or changes its form
  // With RedirectsAccesses:
  ChangesParameter = 128,                   // a parameter may change its form
  CopiesBeforeReaders = 256,                // the copy of a written buffer runs before the first sibling that reads the buffer
};
[[nodiscard]] constexpr auto operator|(Hidden a, Hidden b) -> Hidden { return static_cast<Hidden>(static_cast<uint16_t>(a) | static_cast<uint16_t>(b)); }
[[nodiscard]] constexpr auto has(Hidden set, Hidden one) -> bool { return (static_cast<uint16_t>(set) & static_cast<uint16_t>(one)) != 0; }

/// The claims of a row that decide which programs refuse it. A row without them does not compile.
struct Effects {
  Order order;
  Hidden hidden;
  constexpr Effects(Order order, Hidden hidden) : order(order), hidden(hidden) {}
};
/// For primitives that look up or sample.
inline constexpr Effects no_effects{Order::Untouched, Hidden::Harmless};

struct Primitive {
  std::string_view name;                    // "compute_at"
  std::string_view kind;                    // "ComputeAt", in traces
  std::string_view help;                    // one sentence, lower case, no full stop
  Effects effects = no_effects;
  std::vector<Param> params;                // in the order of the Python call
  OutputKind output = OutputKind::None;
  std::string_view output_name;
  bool is_pure = false;                     // looks up or samples, and never changes the module
  bool is_sampling = false;
  /// Needs a value for each param. Checks, then plans the change; an error changes nothing.
  std::function<Result<Outcome>(const Context&, std::span<const Value>)> run;
  /// Ok for a legal call: the checks of `run`, without the change.
  std::function<Status(const Context&, std::span<const Value>)> check;
  /// The row for axis separators, which the index map in a script's call may contain; null: separators are not allowed.
  const Primitive* separators = nullptr;
  /// For the reference page: a program and calls on it; the last call is of this primitive.
  std::string_view example_program;
  std::string_view example_calls;

  /// "split(loop, factors, preserve_unit_iters=True, disable_predication=False) -> loops": for signature help.
  [[nodiscard]] auto signature() const -> std::string;
};

/// All rows, in the order of the reference page.
[[nodiscard]] auto all_primitives() -> const std::vector<const Primitive*>&;
/// By script name ("compute_at") or instruction kind ("ComputeAt", "GetSBlock" too); null for unknown names.
[[nodiscard]] auto find_primitive(std::string_view name) -> const Primitive*;
[[nodiscard]] auto find_instruction(std::string_view kind) -> const Primitive*;

// ---- from values to the members of Args ---------------------------------------------------------------

[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, BlockArg& out) -> Status;
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, LoopArg& out) -> Status;
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, LocationArg& out) -> Status;
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, PlaceArg& out) -> Status;
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, bool& out) -> Status;
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, int64_t& out) -> Status;
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, double& out) -> Status;
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, std::string& out) -> Status;
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, IndexMap& out) -> Status;
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, BufferArg& out) -> Status;
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, AccessArg& out) -> Status;
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, Value& out) -> Status;
template <class T>
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, std::optional<T>& out) -> Status {
  if (value.is_none()) { out.reset(); return ok(); }
  return convert(cx, param, value, out.emplace());
}
[[nodiscard]] auto list_items(const Context& cx, const Param& param, const Value& value) -> Result<const Value::List*>;
template <class T>
[[nodiscard]] auto convert(const Context& cx, const Param& param, const Value& value, std::vector<T>& out) -> Status {
  LOOPSMITH_TRY(items, list_items(cx, param, value));
  out.resize(items->size());
  for (size_t i = 0; i < items->size(); ++i) { LOOPSMITH_CHECK(convert(cx, param, (*items)[i], out[i])); }
  return ok();
}

template <class T> struct KindOf { static constexpr ValueKind kind = ValueKind::Any; static constexpr bool list = false; };
template <> struct KindOf<BlockArg> { static constexpr ValueKind kind = ValueKind::Block; static constexpr bool list = false; };
template <> struct KindOf<LoopArg> { static constexpr ValueKind kind = ValueKind::Loop; static constexpr bool list = false; };
template <> struct KindOf<LocationArg> { static constexpr ValueKind kind = ValueKind::Loop; static constexpr bool list = false; };
template <> struct KindOf<PlaceArg> { static constexpr ValueKind kind = ValueKind::BlockOrLoop; static constexpr bool list = false; };
template <> struct KindOf<int64_t> { static constexpr ValueKind kind = ValueKind::Int; static constexpr bool list = false; };
template <> struct KindOf<bool> { static constexpr ValueKind kind = ValueKind::Bool; static constexpr bool list = false; };
template <> struct KindOf<double> { static constexpr ValueKind kind = ValueKind::Float; static constexpr bool list = false; };
template <> struct KindOf<std::string> { static constexpr ValueKind kind = ValueKind::String; static constexpr bool list = false; };
template <> struct KindOf<IndexMap> { static constexpr ValueKind kind = ValueKind::IndexMap; static constexpr bool list = false; };
template <> struct KindOf<std::optional<IndexMap>> { static constexpr ValueKind kind = ValueKind::IndexMap; static constexpr bool list = false; };
template <> struct KindOf<BufferArg> { static constexpr ValueKind kind = ValueKind::Buffer; static constexpr bool list = false; };
template <> struct KindOf<AccessArg> { static constexpr ValueKind kind = ValueKind::Access; static constexpr bool list = false; };
template <> struct KindOf<std::optional<int64_t>> { static constexpr ValueKind kind = ValueKind::OptionalInt; static constexpr bool list = false; };
template <class T> struct KindOf<std::vector<T>> { static constexpr ValueKind kind = KindOf<T>::kind; static constexpr bool list = true; };

/// For loops around a change whose iterations run at the same time. Checks that no iteration touches an element that another one writes, unless it
/// did so before the step. Covers the instances that can be counted.
[[nodiscard]] auto require_no_new_race(const Context& cx, const Outcome& outcome) -> Status;
/// True if the function of the arguments has loops whose iterations run at the same time.
[[nodiscard]] auto may_race(const Context& cx, std::span<const Value> values) -> bool;

// ---- building a row ------------------------------------------------------------------------------------

template <class P>
class RowBuilder {
 public:
  using Args = typename P::Args;
  RowBuilder(std::string_view name, std::string_view kind, std::string_view help, Effects effects) {
    row_.name = name;
    row_.kind = kind;
    row_.help = help;
    row_.effects = effects;
  }

  /// A parameter among the inputs of a trace: it may be a variable.
  template <class T>
  auto input(std::string_view name, T Args::* member, std::optional<Value> otherwise = {}) && -> RowBuilder&& {
    return std::move(*this).param(name, member, Role::Input, std::move(otherwise));
  }
  /// A list whose items are inputs of the trace; the script passes them one by one, as in `sch.reorder(i, j)`.
  template <class T>
  auto inputs(std::string_view name, T Args::* member) && -> RowBuilder&& {
    auto&& self = std::move(*this).param(name, member, Role::Input, {});
    row_.params.back().is_spliced = row_.params.back().is_variadic = true;
    return std::move(self);
  }
  /// A list whose items are inputs of the trace; the script passes a list: `factors=[None, 4]`.
  template <class T>
  auto spliced(std::string_view name, T Args::* member) && -> RowBuilder&& {
    auto&& self = std::move(*this).param(name, member, Role::Input, {});
    row_.params.back().is_spliced = true;
    return std::move(self);
  }
  /// A parameter among the attributes of a trace: it is always a constant.
  template <class T>
  auto attr(std::string_view name, T Args::* member, std::optional<Value> otherwise = {}) && -> RowBuilder&& {
    return std::move(*this).param(name, member, Role::Attr, std::move(otherwise));
  }
  /// The arguments worth trying for the parameter just added.
  auto from(Candidates candidates) && -> RowBuilder&& { row_.params.back().candidates = candidates; return std::move(*this); }
  /// The kind of values for the parameter just added, if its type does not determine it.
  auto of(ValueKind kind) && -> RowBuilder&& { row_.params.back().kind = kind; return std::move(*this); }
  /// A program and calls on it (`sch`), for the reference page, which shows the program before and after.
  auto example(std::string_view program, std::string_view calls) && -> RowBuilder&& {
    row_.example_program = program;
    row_.example_calls = calls;
    return std::move(*this);
  }
  /// The inputs of the index map just added.
  auto maps(MapOf what) && -> RowBuilder&& { row_.params.back().map_of = what; return std::move(*this); }
  /// The number just added is an index among the buffers that the block reads ("read") or writes ("write").
  auto indexes(std::string_view access) && -> RowBuilder&& { row_.params.back().index_of = access; return std::move(*this); }
  /// The name of the parameter in the Python text of traces.
  auto traced_as(std::string_view name) && -> RowBuilder&& { row_.params.back().traced_as = name; return std::move(*this); }
  /// If the index map of a call has axis separators, also calls that row, with the same block and buffer.
  auto separators_to(const Primitive* row) && -> RowBuilder&& { row_.separators = row; return std::move(*this); }
  auto omit_empty() && -> RowBuilder&& { row_.params.back().omit_empty = true; return std::move(*this); }
  /// The decision, made or still to be made: the last parameter of sampling primitives.
  auto sampling() && -> RowBuilder&& {
    row_.is_sampling = row_.is_pure = true;
    row_.params.push_back({.name = "decision", .kind = ValueKind::Any, .role = Role::Decision, .otherwise = Value()});
    return std::move(*this);
  }
  auto pure() && -> RowBuilder&& { row_.is_pure = true; return std::move(*this); }
  /// The primitive moves work to another place, so its result is checked for races.
  auto moves_work() && -> RowBuilder&& { moves_work_ = true; return std::move(*this); }
  auto block(std::string_view name) && -> RowBuilder&& { return std::move(*this).output(OutputKind::Block, name); }
  auto loop(std::string_view name) && -> RowBuilder&& { return std::move(*this).output(OutputKind::Loop, name); }
  auto expr(std::string_view name) && -> RowBuilder&& { return std::move(*this).output(OutputKind::Expr, name); }
  auto blocks(std::string_view name) && -> RowBuilder&& { return std::move(*this).output(OutputKind::Blocks, name); }
  auto loops(std::string_view name) && -> RowBuilder&& { return std::move(*this).output(OutputKind::Loops, name); }
  auto exprs(std::string_view name) && -> RowBuilder&& { return std::move(*this).output(OutputKind::Exprs, name); }

  operator Primitive() && {                                                          // NOLINT: this builds a row
    auto convert_all = [setters = std::move(setters_)](const Context& cx, std::span<const Value> values, Args& args) -> Status {
      for (size_t i = 0; i < setters.size(); ++i) { LOOPSMITH_CHECK(setters[i](cx, cx.primitive.params[i], values[i], args)); }
      return ok();
    };
    row_.check = [convert_all, moves_work = moves_work_](const Context& cx, std::span<const Value> values) -> Status {
      Args args;
      LOOPSMITH_CHECK(convert_all(cx, values, args));
      LOOPSMITH_TRY(plan, P::check(cx, args));
      return moves_work && may_race(cx, values) ? require_no_new_race(cx, P::apply(cx, args, plan)) : ok();
    };
    row_.run = [convert_all = std::move(convert_all), moves_work = moves_work_](const Context& cx, std::span<const Value> values) -> Result<Outcome> {
      Args args;
      LOOPSMITH_CHECK(convert_all(cx, values, args));
      LOOPSMITH_TRY(plan, P::check(cx, args));
      Outcome outcome = P::apply(cx, args, plan);
      if (moves_work) { LOOPSMITH_CHECK(require_no_new_race(cx, outcome)); }
      return outcome;
    };
    return std::move(row_);
  }

 private:
  template <class T>
  auto param(std::string_view name, T Args::* member, Role role, std::optional<Value> otherwise) && -> RowBuilder&& {
    row_.params.push_back({.name = name, .kind = KindOf<T>::kind, .role = role, .is_list = KindOf<T>::list, .otherwise = std::move(otherwise)});
    setters_.push_back([member](const Context& cx, const Param& p, const Value& value, Args& args) { return convert(cx, p, value, args.*member); });
    return std::move(*this);
  }
  auto output(OutputKind kind, std::string_view name) && -> RowBuilder&& {
    row_.output = kind;
    row_.output_name = name;
    return std::move(*this);
  }
  Primitive row_;
  bool moves_work_ = false;
  std::vector<std::function<Status(const Context&, const Param&, const Value&, Args&)>> setters_;
};

template <class P>
[[nodiscard]] auto primitive(std::string_view name, std::string_view kind, std::string_view help, Effects effects) -> RowBuilder<P> {
  return {name, kind, help, effects};
}

}  // namespace loopsmith::schedule
