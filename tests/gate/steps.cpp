// Random steps: see steps.h.
#include "tests/gate/steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"

namespace loopsmith::gate {

using schedule::BlockRV;
using schedule::Choice;
using schedule::FuncState;
using schedule::LoopRV;
using schedule::Param;
using schedule::Place;
using schedule::Primitive;
using schedule::Value;
using schedule::ValueKind;

namespace {

auto value_text(const Value& value, const std::vector<Step::Ref>& refs) -> std::string {
  auto ref = [&](uint32_t i) {
    const Step::Ref& r = refs[i];
    return r.loop < 0 ? fmt::format("\"{}\"", r.block) : fmt::format("sch.get_loops(\"{}\")[{}]", r.block, r.loop);
  };
  if (value.is_none()) { return "None"; }
  if (const bool* b = value.as<bool>()) { return *b ? "True" : "False"; }
  if (const int64_t* i = value.as<int64_t>()) { return std::to_string(*i); }
  if (const double* d = value.as<double>()) { return float_text(*d); }
  if (const std::string* s = value.as<std::string>()) { return string_text(*s); }
  if (const BlockRV* b = value.as<BlockRV>()) { return ref(b->var); }
  if (const LoopRV* l = value.as<LoopRV>()) { return ref(l->var); }
  if (const IndexMap* map = value.as<IndexMap>()) { return print_script(*map); }
  if (const Expr* e = value.as<Expr>()) { return print_script(*e); }
  if (const Value::List* list = value.as<Value::List>()) {
    std::string out = "[";
    for (const Value& item : *list) { out += (out.size() > 1 ? ", " : "") + value_text(item, refs); }
    return out + "]";
  }
  if (const Value::Dict* dict = value.as<Value::Dict>()) {
    std::string out = "{";
    for (const auto& [key, item] : *dict) { out += (out.size() > 1 ? ", " : "") + string_text(key) + ": " + value_text(item, refs); }
    return out + "}";
  }
  return "?";
}

// Replaces variables that refer to places of the function (by Choice) by names. False: a place has no unique name.
auto name_places(const FuncState& func, Value& value, std::vector<Step::Ref>& refs) -> bool {
  auto unique = [&](const Place& block) {
    int same = 0;
    for (const Place& p : func.places()) { same += p.is_block() && p.name() == block.name() ? 1 : 0; }
    return same == 1 && !block.name().empty() && !(block.name() == "root");
  };
  auto add = [&](const Place& place) -> std::optional<uint32_t> {
    Step::Ref ref;
    if (place.is_block()) {
      if (!unique(place)) { return {}; }
      ref = {place.name().str(), -1};
    } else {
      for (int i = place.index + 1; i < place.end; ++i) {
        const Place& below = func.places()[static_cast<size_t>(i)];
        if (!below.is_block() || !unique(below)) { continue; }
        auto loops = func.loops(below);
        auto at = std::find(loops.begin(), loops.end(), &place);
        if (at == loops.end()) { continue; }
        ref = {below.name().str(), static_cast<int>(at - loops.begin())};
        break;
      }
      if (ref.block.empty()) { return {}; }
    }
    refs.push_back(ref);
    return static_cast<uint32_t>(refs.size() - 1);
  };
  if (const BlockRV* b = value.as<BlockRV>()) {
    if (b->var >= func.places().size()) { return false; }
    auto made = add(func.places()[b->var]);
    if (!made) { return false; }
    value = BlockRV{*made};
  } else if (const LoopRV* l = value.as<LoopRV>()) {
    if (l->var >= func.places().size()) { return false; }
    auto made = add(func.places()[l->var]);
    if (!made) { return false; }
    value = LoopRV{*made};
  } else if (auto* list = std::get_if<Value::List>(&value.data)) {
    for (Value& item : *list) { if (!name_places(func, item, refs)) { return false; } }
  }
  return true;
}

void perturb(Value& value, Random& random) {
  if (auto* i = std::get_if<int64_t>(&value.data)) { *i = random.chance(50) ? *i + random.between(-1, 2) : random.between(0, 8); }
  if (auto* list = std::get_if<Value::List>(&value.data)) {
    for (Value& item : *list) { if (random.chance(50)) { perturb(item, random); } }
    bool places = !list->empty() && (list->front().as<LoopRV>() || list->front().as<BlockRV>());
    if (places && list->size() > 1 && random.chance(50)) { std::swap((*list)[0], (*list)[static_cast<size_t>(random.below(static_cast<int64_t>(list->size())))]); }
  }
}

auto random_index_map(size_t rank, Random& random) -> IndexMap {
  IndexMapNode fields;
  std::vector<Var> vars;
  std::vector<Expr> out;
  for (size_t i = 0; i < rank; ++i) {
    vars.push_back(var(Name(fmt::format("i{}", i))));
    out.emplace_back(vars.back());
  }
  switch (random.below(5)) {
    case 0: break;
    case 1: if (rank) { std::swap(out[0], out[rank - 1]); } break;
    case 2: case 3: {   // tiles a dimension
      if (out.empty()) { break; }
      auto at = static_cast<size_t>(random.below(static_cast<int64_t>(rank)));
      Expr i = out[at], tile = int_imm(random.pick<int64_t>({2, 3, 4, 8}));
      out[at] = floordiv(i, tile);
      out.push_back(floormod(i, tile));
      break;
    }
    default:
      if (rank >= 2) {   // fuses two dimensions
        Expr joined = out[0] * int_imm(random.pick<int64_t>({4, 8, 16})) + out[1];
        out.erase(out.begin());
        out[0] = joined;
      }
  }
  fields.initial = std::move(vars);
  fields.final = std::move(out);
  return make_index_map(std::move(fields));
}

// An intrinsic that the file registers, or one for which the generator makes programs. Others would never match.
auto random_intrinsic(const schedule::Schedule& sch, Random& random) -> Value {
  if (sch.intrinsics() && !sch.intrinsics()->empty() && random.chance(80)) { return Value(random.pick(*sch.intrinsics()).name.str()); }
  return Value(random.pick<std::string>({"dot_16x4_vnni", "dot_4x4_i8i8s32_neon", "dot_4x4_i8i8s32_sdot", "dot_4x4_u8u8u32_udot"}));
}

auto by_kind(const Param& param, ValueKind kind, const Choice& choice, Random& random) -> std::optional<Value> {
  const FuncState& func = choice.func;
  const Place& focus = choice.focus;
  auto any = [&](bool block) -> std::optional<Value> {
    std::vector<const Place*> fit;
    for (const Place& p : func.places()) { if (p.index > 0 && p.is_block() == block) { fit.push_back(&p); } }
    if (fit.empty()) { return {}; }
    const Place& place = *random.pick(fit);
    return block ? Choice::block(place) : Choice::loop(place);
  };
  switch (kind) {
    case ValueKind::Block: {
      if (random.chance(25)) { return any(true); }
      if (focus.is_block()) { return Choice::block(focus); }
      for (int i = focus.index + 1; i < focus.end; ++i) { if (func.places()[static_cast<size_t>(i)].is_block()) { return Choice::block(func.places()[static_cast<size_t>(i)]); } }
      return {};
    }
    case ValueKind::Loop: {
      if (focus.is_loop() && !random.chance(25)) { return Choice::loop(focus); }
      return any(false);
    }
    case ValueKind::BlockOrLoop: return focus.is_block() ? Choice::block(focus) : Choice::loop(focus);
    case ValueKind::Int: return Value(random.pick<int64_t>({0, 0, 0, 1, 1, 2, 4, 8, -1}));
    case ValueKind::OptionalInt: return random.chance(30) ? Value() : Value(random.between(1, 6));
    case ValueKind::Bool: return Value(random.chance(50));
    case ValueKind::Float: return Value(static_cast<double>(random.between(0, 4)) / 4);
    case ValueKind::String: return Value(random.pick<std::string>({"global", "local", "shared", "float32", "int32"}));
    case ValueKind::IndexMap: {
      size_t rank = static_cast<size_t>(random.between(1, 3));
      const Place* block = focus.is_block() ? &focus : nullptr;
      for (const Value& v : choice.chosen) { if (const Place* p = choice.place(v); p && p->is_block()) { block = p; } }
      if (block) {
        if (param.name.find("layout") != std::string_view::npos || block->block()->writes.empty()) { rank = block->block()->iter_vars.size(); }
        else { rank = random.chance(60) || block->block()->reads.empty() ? block->block()->writes[0].region.size() : block->block()->reads[0].region.size(); }
      }
      return Value(random_index_map(rank, random));
    }
    // The row of the primitive knows useful values for these.
    case ValueKind::Buffer:
    case ValueKind::Access: return param.otherwise;
    case ValueKind::Any: return param.otherwise ? *param.otherwise : Value(random.pick<int64_t>({0, 1, 4}));
  }
  return {};
}

// The value of a parameter by which the caller promises something (`assume_injective_transform`), chosen so that the promise is true. None: the parameter
// promises nothing, or any value keeps the promise.
auto honest(const Primitive& row, const Param& param, const Choice& choice, Random& random) -> std::optional<Value> {
  const Place& focus = choice.subject();
  // All values stay the same: a wider type, which can represent all elements of the buffer.
  if (row.name == "unsafe_set_dtype" && param.name == "dtype") {
    const Place& at = choice.subject();
    if (!at.is_block() || at.block()->writes.empty()) { return Value("no_such_type"); }
    auto is_integral = [](const BufferRegion& r) { return r.buffer->dtype.is_integral(); };
    bool is_integer = is_integral(at.block()->writes[0]);
    for (const BufferRegion& r : at.block()->writes) { if (is_integral(r) != is_integer) { return Value("no_such_type"); } }
    return Value(random.chance(20) ? "no_such_type" : is_integer ? "int64" : "float64");
  }
  // Hiding reads is safe; hiding a write would be a false promise.
  if (row.name == "unsafe_hide_buffer_access" && param.name == "buf_type") { return Value(random.chance(90) ? "read" : "neither"); }
  if (row.name == "unsafe_hide_buffer_access" && param.name == "buf_index_array") {
    return Value(Value::List{Value(random.below(focus.is_block() ? static_cast<int64_t>(focus.block()->reads.size()) + 1 : 1))});
  }
  if (row.name == "annotate_buffer_access" && param.name == "buf_type") { return Value(random.chance(95) ? "read" : "neither"); }
  if (row.name == "annotate_buffer_access" && param.name == "gen_new_ranges") {
    std::vector<Value> ranges = param.candidates(choice);
    return ranges.empty() ? std::optional<Value>() : random.pick(ranges);
  }
  return {};
}

// A block, and a loop in which another block reads windows of its result: moved there, the buffer can be rolled.
struct Windowed { const Place* producer; const Place* loop; };
auto windows_of(const FuncState& func) -> std::vector<Windowed> {
  std::vector<Windowed> out;
  auto uses = [](const Expr& e, const VarNode* var) { return uses_var(e, [&](const VarNode& v) { return &v == var; }); };
  for (const Place& reader : func.places()) {
    const Place* scope = reader.is_block() ? func.scope(reader) : nullptr;
    if (!scope) { continue; }
    std::vector<const Place*> loops = func.loops(reader);
    for (const BufferRegion& read : reader.block()->reads) {
      const auto& own = scope->block()->alloc_buffers;
      if (std::find(own.begin(), own.end(), read.buffer) == own.end()) { continue; }
      for (const Range& range : read.region) {
        bool is_window = range.min.as<Add>() || range.min.as<FloorDiv>() || !is_one(range.extent);
        for (size_t i = 0; is_window && i < reader.block()->iter_vars.size(); ++i) {
          const IterVar& iter = reader.block()->iter_vars[i];
          if (iter.kind != IterKind::Spatial || !uses(range.min, iter.var.get())) { continue; }
          for (const Place* loop : loops) {
            if (!uses(reader.realize->iter_values[i], loop->loop->var.get())) { continue; }
            for (const Place* producer : func.child_blocks(*scope)) {
              const auto& writes = producer->block()->writes;
              bool is_it = producer->index < loop->index && !writes.empty() && writes[0].buffer == read.buffer;
              if (is_it) { out.push_back({producer, loop}); }
            }
          }
        }
      }
    }
  }
  return out;
}

// A random primitive that changes programs; rarely accepted ones are more likely.
auto random_row(Random& random, const StepCounts& counts, bool asks_units) -> const Primitive& {
  static const std::vector<const Primitive*> rows = changing_rows();
  // Few programs can use a tensor unit; for those, `tensorize` is tried often.
  if (random.chance(asks_units ? 12 : 1)) { if (const Primitive* row = schedule::find_primitive("tensorize")) { return *row; } }
  static const std::vector<std::string> common = {"split", "fuse", "reorder", "compute_at", "reverse_compute_at"};
  if (random.chance(35)) { if (const Primitive* row = schedule::find_primitive(random.pick(common))) { return *row; } }
  const Primitive* a = random.pick(rows);
  const Primitive* b = random.pick(rows);
  auto accepted = [&](const Primitive* row) {
    auto found = counts.find(std::string(row->name));
    return found == counts.end() ? int64_t{0} : found->second.accepted;
  };
  return accepted(a) <= accepted(b) ? *a : *b;
}

}  // namespace

auto changing_rows() -> std::vector<const Primitive*> {
  std::vector<const Primitive*> out;
  for (const Primitive* row : schedule::all_primitives()) { if (!row->is_pure && row->name != "enter_postproc") { out.push_back(row); } }
  return out;
}

auto Step::text() const -> std::string {
  std::string out = fmt::format("sch.{}(", row->name);
  bool first = true;
  for (const auto& [name, value] : args) {
    const Param* param = nullptr;
    for (const Param& p : row->params) { if (p.name == name) { param = &p; } }
    if (param && param->otherwise && *param->otherwise == value) { continue; }
    std::string text = value_text(value, refs);
    if (param && param->is_variadic) {
      text = text.substr(1, text.size() - 2);
    } else if (param && !first) {
      text = fmt::format("{}={}", name, text);
    }
    out += (first ? "" : ", ") + text;
    first = false;
  }
  return out + ")";
}

auto random_block(const schedule::Schedule& sch, Random& random) -> std::string {
  const FuncState* func = sch.state().func("main");
  std::vector<std::string> names;
  if (func) { for (const Place& p : func->places()) { if (p.is_block() && p.index > 0) { names.push_back(p.name().str()); } } }
  return names.empty() ? "" : random.pick(names);
}

namespace {

// The place that a primitive is tried at: usually near the block `near`, and one that suits the primitive.
auto random_place(const FuncState& func, const Primitive& row, const std::string& near, Random& random) -> const Place* {
  const Place* chosen_place = &func.places()[static_cast<size_t>(random.between(1, static_cast<int64_t>(func.places().size()) - 1))];
  if (!near.empty() && random.chance(70)) {
    std::vector<const Place*> close;
    for (const Place& p : func.places()) {
      if (!p.is_block() || p.index == 0 || p.name().str() != near) { continue; }
      for (const Place* at = &p; at && at->index > 0; at = func.parent(*at)) { close.push_back(at); }
    }
    if (!close.empty()) { chosen_place = random.pick(close); }
  }
  if (row.name == "tensorize" && random.chance(80)) {
    // Usually the outermost loop of a tile.
    std::vector<const Place*> tiles;
    for (const Place& p : func.places()) { if (p.is_loop() && p.name().view().starts_with("x0")) { tiles.push_back(&p); } }
    if (!tiles.empty()) { chosen_place = random.pick(tiles); }
  }
  if (row.name == "fuse_reduction_epilogue" && random.chance(80)) {
    // Few blocks are reductions, so choose among these.
    std::vector<const Place*> reductions;
    for (const Place& p : func.places()) { if (p.is_block() && p.block()->init) { reductions.push_back(&p); } }
    if (!reductions.empty()) { chosen_place = random.pick(reductions); }
  }
  return chosen_place;
}

}  // namespace

auto random_step(const schedule::Schedule& sch, Random& random, const StepCounts& counts, const std::string& near) -> std::optional<Step> {
  const FuncState* func = sch.state().func("main");
  if (!func || func->places().size() < 2) { return {}; }
  bool asks_units = sch.intrinsics() && !sch.intrinsics()->empty();
  const Primitive* picked = &random_row(random, counts, asks_units);
  // A buffer can be rolled only after its block was moved to a loop that reads windows of it.
  bool is_before_rolling = picked->name == "rolling_buffer" && random.chance(60);
  std::optional<Windowed> window;
  if (is_before_rolling || random.chance(5)) {
    if (auto windows = windows_of(*func); !windows.empty()) { window = random.pick(windows); }
  }
  if (is_before_rolling || window) { picked = schedule::find_primitive("compute_at"); }
  const Primitive& row = *picked;
  const Place* chosen_place = random_place(*func, row, near, random);
  if (window) { chosen_place = window->producer; }
  const Place& focus = *chosen_place;
  bool is_wrong = random.chance(3);   // pass a loop instead of a block, or a number instead of either
  std::vector<Value> chosen;
  for (const Param& param : row.params) {
    Choice choice{sch.state(), *func, focus, chosen};
    // The unsafe option of a primitive is not used.
    bool is_promise = param.name == "disable_predication";
    if (param.role == schedule::Role::Decision || (param.otherwise && (is_promise || random.chance(65)))) {
      chosen.push_back(param.otherwise ? *param.otherwise : Value());
      continue;
    }
    std::optional<Value> value = honest(row, param, choice, random);
    if (window && param.name == "block") { value = Choice::block(*window->producer); }
    if (window && param.name == "loop") { value = Choice::loop(*window->loop); }
    if (is_wrong && chosen.empty()) {
      const Place* root = &func->places()[1];
      if (param.kind == ValueKind::Loop) { value = focus.is_block() ? Choice::block(focus) : root->is_block() ? Choice::block(*root) : Value(int64_t{7}); }
      else if (param.kind == ValueKind::Block) { value = focus.is_loop() ? Choice::loop(focus) : root->is_loop() ? Choice::loop(*root) : Value(int64_t{7}); }
      else if (param.kind == ValueKind::BlockOrLoop) { value = Value(int64_t{7}); }
      if (value && param.is_list) { value = Value(Value::List{*value}); }
    }
    if (!value && param.name == "tensor_intrin" && random.chance(70)) { value = random_intrinsic(sch, random); }
    if (!value && param.candidates) {
      std::vector<Value> candidates = param.candidates(choice);
      if (!candidates.empty()) {
        // Only inner loops have windows.
        value = is_before_rolling && param.name == "loop" && random.chance(75) ? candidates.back() : random.pick(candidates);
        if (random.chance(30)) { perturb(*value, random); }
      }
    }
    if (!value && param.is_list) {
      Value::List items;
      for (int64_t i = random.between(1, 2); i > 0; --i) { if (auto item = by_kind(param, param.kind, choice, random)) { items.push_back(std::move(*item)); } }
      value = Value(std::move(items));
    }
    if (!value) { value = by_kind(param, param.kind, choice, random); }
    if (!value) { return {}; }
    chosen.push_back(std::move(*value));
  }
  Step step;
  step.row = &row;
  for (size_t i = 0; i < row.params.size(); ++i) {
    if (row.params[i].role == schedule::Role::Decision) { continue; }
    if (!name_places(*func, chosen[i], step.refs)) { return {}; }
    step.args.emplace_back(std::string(row.params[i].name), std::move(chosen[i]));
  }
  return step;
}

auto follow_up(const Step& step, Random& random) -> std::optional<Step> {
  std::string_view next = step.row->name == "compute_at" ? "rolling_buffer" : step.row->name == "annotate" ? "unannotate" : "";
  if (next.empty() || !random.chance(next == "rolling_buffer" ? 85 : 40)) { return {}; }
  Step out;
  out.row = schedule::find_primitive(next);
  out.refs = step.refs;
  for (const Param& param : out.row->params) {
    if (param.name == "write_buffer_index") { out.args.emplace_back("write_buffer_index", Value(int64_t{0})); }
    for (const auto& arg : step.args) { if (arg.first == param.name) { out.args.push_back(arg); } }
  }
  return out;
}

// A parameter in another layout is another interface, even if the shape is the same.
static auto has_other_parameters(const IRModule& before, const IRModule& after) -> bool {
  PrimFunc a = before->find("main"), b = after->find("main");
  for (size_t i = 0; a && b && i < a->params.size() && i < b->params.size(); ++i) {
    if (!(a->buffer_of(a->params[i]) == b->buffer_of(b->params[i]))) { return true; }
  }
  return false;
}

auto apply_step(schedule::Schedule& sch, const Step& step) -> Applied {
  std::vector<Value> refs;
  for (const Step::Ref& ref : step.refs) {
    auto block = sch.call("get_block", {Value(ref.block)});
    if (!block.ok()) { return Applied::NoSuchPlace; }
    if (ref.loop < 0) {
      refs.push_back(*block);
      continue;
    }
    auto loops = sch.call("get_loops", {*block});
    if (!loops.ok()) { return Applied::NoSuchPlace; }
    std::vector<LoopRV> all = schedule::loops_of(*loops);
    if (static_cast<size_t>(ref.loop) >= all.size()) { return Applied::NoSuchPlace; }
    refs.emplace_back(all[static_cast<size_t>(ref.loop)]);
  }
  std::function<Value(const Value&)> resolved = [&](const Value& value) -> Value {
    if (const BlockRV* b = value.as<BlockRV>()) { return refs[b->var]; }
    if (const LoopRV* l = value.as<LoopRV>()) { return refs[l->var]; }
    if (const Value::List* list = value.as<Value::List>()) {
      Value::List out;
      for (const Value& item : *list) { out.push_back(resolved(item)); }
      return out;
    }
    return value;
  };
  std::vector<Value> values;
  for (const Param& param : step.row->params) {
    auto found = std::find_if(step.args.begin(), step.args.end(), [&](const auto& a) { return a.first == param.name; });
    values.push_back(found == step.args.end() ? param.otherwise.value_or(Value()) : resolved(found->second));
  }
  schedule::Schedule before = sch;
  auto result = sch.apply_values(*step.row, std::move(values));
  if (!result.ok()) { return Applied::Refused; }
  if (step.row->name == "transform_layout" && has_other_parameters(before.module(), sch.module())) {
    sch = std::move(before);
    return Applied::NoSuchPlace;
  }
  return Applied::Accepted;
}

}  // namespace loopsmith::gate
