// The namespaces of every file: `T` and `I` of the script, `T` of TVM's main line, and the known parts of Python's `tvm`. Their functions are
// in functions/.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "frontend/contrib.h"
#include "frontend/functions/functions.h"
#include "frontend/introspection.h"
#include "frontend/ir_builder.h"
#include "frontend/lower.h"
#include "frontend/thread_level.h"
#include "support/codes.h"

namespace loopsmith::frontend {

using eval::make_object;

namespace {

auto module_attrs(Evaluator& e, const Arguments& a) -> Value { return {}; }
auto opaque_function(Evaluator& e, const Arguments& a) -> Value { return e.opaque(a.call); }

auto other_member(Name name) -> std::optional<Value> {
  if (auto t = DataType::parse(name.view())) { return make_object<DtypeObject>(*t); }
  return {};
}

// Members that only TVM's main line has: short names of types, and the thread-level language (thread_level.h).
auto script_member(Name name) -> std::optional<Value> {
  if (auto known = other_member(name)) { return known; }
  static const std::unordered_map<Name, DataType> aliases = {
      {"bf16", DataType::bfloat16()}, {"f16", DataType::float_(16)}, {"f32", DataType::float_(32)}, {"f64", DataType::float_(64)},
      {"i8", DataType::int_(8)},      {"i16", DataType::int_(16)},   {"i32", DataType::int_(32)},   {"i64", DataType::int_(64)},
      {"u8", DataType::uint(8)},      {"u16", DataType::uint(16)},   {"u32", DataType::uint(32)},   {"u64", DataType::uint(64)}};
  if (auto alias = aliases.find(name); alias != aliases.end()) { return make_object<DtypeObject>(alias->second); }
  return thread_member(name);
}

// `T` of `from tvm.script import tirx as T`: its types declare variables that can be assigned to, and any unknown name is an operation on
// tiles. None for a name that is nearly a known one, which is reported as misspelt.
auto tirx_member(Name name) -> std::optional<Value>;

// `tvm.IRModule({"main": f})`, `tvm.IRModule.from_expr(f)`.
auto module_of_program(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return e.opaque(a.call); }
  if (a.all[0].value.as<ProgramObject>()) { return a.all[0].value; }
  const auto* dict = a.all[0].value.as<eval::Dict>();
  IRModuleNode node;
  std::vector<std::pair<Name, PrimFunc>> functions;
  for (const auto& [key, value] : dict ? dict->entries() : std::vector<std::pair<Value, Value>>{}) {
    const auto* program = value.as<ProgramObject>();
    const std::string* name = key.string();
    if (!program || !name || program->module->functions.size() != 1) { return e.opaque(a.call); }
    functions.emplace_back(Name(*name), program->module->functions[0].second);
    node.dialect = program->module->dialect;
  }
  if (functions.empty()) { return e.opaque(a.call); }
  node.functions = std::move(functions);
  return make_object<ProgramObject>(make_module(std::move(node)), Name("Module"), false, a.callee);
}
class ModuleMaker final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  ModuleMaker() : Object(&type_tag) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override { return module_of_program(e, a); }
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> override {
    static const Name from_expr("from_expr");
    if (name == from_expr) { return make_object<eval::Builtin>(from_expr, module_of_program); }
    return Value::opaque();
  }
};
const eval::TypeTag ModuleMaker::type_tag{"tvm.IRModule"};

// `IndexMap(initial, final)`, `IndexMap.from_func(lambda i: ...)`, `IndexMap.AXIS_SEPARATOR`.
class IndexMapMaker final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  IndexMapMaker() : Object(&type_tag) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override { return index_map_of_parts(e, a); }
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> override {
    static const Name from_func("from_func"), separator("AXIS_SEPARATOR");
    if (name == from_func) { return make_object<eval::Builtin>(from_func, index_map_from_func); }
    if (name == separator) { return make_object<AxisSeparatorObject>(); }
    return Value::opaque();
  }
};
const eval::TypeTag IndexMapMaker::type_tag{"tvm.tir.IndexMap"};

// Members of `I` that only TVM's main line has.
auto ir_member(Name name) -> std::optional<Value> {
  static const std::unordered_set<Name> elsewhere = {"BoolImm", "Call", "Expr", "FloatImm", "FuncType", "GlobalVar", "IntImm", "Op", "Optional", "PointerType",
                                                     "PrimType", "SourceName", "Span", "StringType", "Tuple", "TupleType", "Type", "Var", "constexpr"};
  return elsewhere.count(name) != 0 ? std::optional<Value>(Value::opaque()) : std::nullopt;
}

// `tvm.testing.parameter("float32", "float16")`, `parameter(by_dict={"one": 1})`, and `parameters(("float32", 4), ("float16", 8))` for several at once.
auto test_parameter(Evaluator& e, const Arguments& a) -> Value {
  static const Name by_dict("by_dict");
  const Argument* named = a.keyword(by_dict);
  const auto* dict = named ? named->value.as<eval::Dict>() : nullptr;
  if (dict && !dict->entries().empty()) { return make_object<FixtureObject>(dict->entries().front().second); }
  if (a.positional == 0 || a.all[0].value.is_unknown()) { return e.opaque(a.call); }
  return make_object<FixtureObject>(a.all[0].value);
}
auto test_parameters(Evaluator& e, const Arguments& a) -> Value {
  const auto* row = a.positional == 0 ? nullptr : a.all[0].value.items();
  if (!row) { return e.opaque(a.call); }
  std::vector<Value> out;
  for (const Value& v : *row) { out.push_back(make_object<FixtureObject>(v)); }
  return Value::tuple(std::move(out));
}

auto namespace_tir() -> const Value&;

// Unknown members of Python's `tvm` are not evaluated and not reported.
auto unknown_member(Name) -> std::optional<Value> { return Value::opaque(); }
auto python_member(Name name) -> std::optional<Value> {
  if (auto known = other_member(name)) { return known; }
  // `tir.stmt.Block`, `tir.expr.Cast`: the modules that define them.
  static const Name expr("expr"), stmt("stmt"), function("function");
  if (name == expr || name == stmt || name == function) { return namespace_tir(); }
  return Value::opaque();
}

auto families() -> std::vector<FunctionRows> {
  return {buffer_functions(), loop_functions(), block_functions(), statement_functions(), operator_functions(), constant_functions(), index_map_functions(),
          reducer_functions(), target_functions(), call_functions()};
}

struct Namespaces {
  Value t, i, tir, te, tvm, index_maps;   // tir: Python's module, whose other members are not evaluated
  Value t_imported;                       // `T` of `from tvm.script import tir as T`, which shows the dialect
  Value tirx, s_tir, type_vars;           // tirx: `T` of TVM's main line; s_tir: its `Ts`
  Namespaces() {
    auto make_builtin = [](const char* name, eval::Builtin::Run run) { return make_object<eval::Builtin>(Name(name), run); };
    Ref<eval::Namespace> axis = make_object<eval::Namespace>(Name("T.axis"));
    auto add_to = [](const Ref<eval::Namespace>& space, const char* name, Value value) {
      const_cast<eval::Namespace&>(*space).add(Name(name), std::move(value));
    };
    for (const FunctionRow& row : axis_functions()) { add_to(axis, row.name, make_builtin(row.name, row.run)); }
    Ref<eval::Namespace> script_tir = make_object<eval::Namespace>(Name("T"), script_member);
    Ref<eval::Namespace> python_tir = make_object<eval::Namespace>(Name("tir"), python_member);
    Ref<eval::Namespace> script_tirx = make_object<eval::Namespace>(Name("T"), tirx_member);
    Ref<eval::Namespace> script_s_tir = make_object<eval::Namespace>(Name("Ts"), tirx_member);
    Ref<eval::Namespace> imported_tir = make_object<eval::Namespace>(Name("T"), script_member);
    auto add_t = [&](const char* name, const Value& value) {
      for (const auto& space : {script_tirx, script_s_tir, script_tir, imported_tir, python_tir}) { add_to(space, name, value); }
    };
    for (const auto& [name, intrinsic] : intrinsic_members()) { add_t(name, intrinsic); }
    for (FunctionRows family : families()) {
      for (const FunctionRow& row : family) { add_t(row.name, make_builtin(row.name, row.run)); }
    }
    index_maps = make_object<IndexMapMaker>();
    add_t("IndexMap", index_maps);
    add_t("axis", axis);
    add_t("let", let_annotation());
    for (const char* name : {"Buffer", "buffer"}) { add_t(name, make_object<BufferTypeObject>()); }
    add_t("prim_func", prim_func_decorator({}));
    add_t("macro", macro_decorator());
    add_t("inline", macro_decorator());
    for (const char* name : {"float8_e4m3fn", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bfloat16", "bool",
                             "handle", "void"}) {
      add_t(name, *other_member(Name(name)));
    }
    add_t("boolean", make_object<DtypeObject>(DataType::bool_()));
    for (const char* name : {"Ptr", "ptr"}) { add_t(name, make_object<DtypeObject>(DataType::handle(), false, name)); }
    add_decorators(script_tirx, script_s_tir, imported_tir);
    for (const auto& space : {script_tirx, script_s_tir}) {
      add_to(space, "Tensor", make_object<BufferTypeObject>());
      for (const ThreadEntry& entry : thread_entries()) {
        if (!space->find(Name(entry.name))) { const_cast<eval::Namespace&>(*space).add(Name(entry.name), *thread_member(Name(entry.name))); }
      }
    }
    for (const char* name : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bfloat16", "bool", "boolean"}) {
      Value type = make_object<DtypeObject>(std::string_view(name) == "boolean" ? DataType::bool_() : *DataType::parse(name), true);
      add_to(script_tirx, name, type);
      add_to(script_s_tir, name, type);
    }
    t = script_tir;
    t_imported = imported_tir;
    tirx = script_tirx;
    s_tir = script_s_tir;
    add_classes(const_cast<eval::Namespace&>(*python_tir), iter_var);
    add_to(python_tir, "ir_builder", namespace_ir_builder());
    tir = python_tir;
    type_vars = make_builtin("TypeVar", type_var);
    Ref<eval::Namespace> ir = make_object<eval::Namespace>(Name("I"), ir_member);
    add_to(ir, "ir_module", module_decorator());
    for (const char* name : {"module_attrs", "module_global_infos", "module_set_attr", "module_get_attr"}) { add_to(ir, name, make_builtin(name, module_attrs)); }
    add_to(ir, "Range", make_builtin("Range", range_of));
    add_to(ir, "dynamic", make_builtin("dynamic", dynamic_var));
    add_to(ir, "meta_var", make_builtin("meta_var", meta_var));
    add_to(ir, "StringImm", make_builtin("StringImm", string_immediate));
    for (const char* name : {"dummy_global_info", "vdevice", "lookup_vdevice"}) { add_to(ir, name, make_builtin(name, opaque_function)); }
    i = ir;
    te = te_namespace(t);
    Ref<eval::Namespace> script = make_object<eval::Namespace>(Name("tvm.script"), unknown_member);
    add_to(script, "tir", t_imported);
    add_to(script, "tirx", tirx);
    add_to(script, "s_tir", s_tir);
    add_to(script, "ir", i);
    add_to(script, "ir_module", *ir->find(Name("ir_module")));
    Ref<eval::Namespace> runtime = make_object<eval::Namespace>(Name("tvm.runtime"), unknown_member);
    add_to(runtime, "convert", make_builtin("convert", converted));
    add_to(runtime, "const", make_builtin("const", constant_of));
    Ref<eval::Namespace> all = make_object<eval::Namespace>(Name("tvm"), unknown_member);
    add_to(all, "runtime", runtime);
    Ref<eval::Namespace> targets = make_object<eval::Namespace>(Name("tvm.target"), unknown_member);
    add_to(targets, "Target", target_class(target));
    add_to(all, "target", targets);
    add_to(all, "ir", namespace_ir_of_python());
    add_to(all, "tir", tir);
    add_to(all, "tirx", tir);
    Ref<eval::Namespace> testing = make_object<eval::Namespace>(Name("tvm.testing"), unknown_member);
    add_to(testing, "parameter", make_builtin("parameter", test_parameter));
    add_to(testing, "parameters", make_builtin("parameters", test_parameters));
    add_to(all, "testing", testing);
    add_to(all, "IRModule", make_object<ModuleMaker>());
    add_to(all, "te", te);
    add_to(all, "contrib", namespace_contrib());
    add_to(all, "script", script);
    tvm = all;
  }

 private:
  // Adds the decorators of programs, each with the dialect that it implies.
  static void add_decorators(const Ref<eval::Namespace>& tirx, const Ref<eval::Namespace>& s_tir, const Ref<eval::Namespace>& imported) {
    auto add = [](const Ref<eval::Namespace>& space, const char* name, const FunctionOptions& options) {
      const_cast<eval::Namespace&>(*space).add(Name(name), prim_func_decorator(options));
    };
    FunctionOptions older;
    older.dialect_is_given = true;
    add(imported, "prim_func", older);
    FunctionOptions newer = older;
    newer.rebinds_names = true;
    add(tirx, "prim_func", newer);
    newer.is_jit = true;
    add(tirx, "jit", newer);
    add(s_tir, "jit", newer);
    newer.is_jit = false;
    newer.dialect = dialects::ts;
    add(s_tir, "prim_func", newer);
    newer.dialect = dialects::tensor;
    add(tirx, "function", newer);
    add(s_tir, "function", newer);
  }
};

auto namespaces() -> const Namespaces& {
  static thread_local const Namespaces the_namespaces;
  return the_namespaces;
}

auto namespace_tir() -> const Value& { return namespaces().tir; }

auto tirx_member(Name name) -> std::optional<Value> {
  if (auto known = script_member(name)) {
    const auto* t = known->as<DtypeObject>();
    return t ? Value(make_object<DtypeObject>(t->dtype, true)) : *known;
  }
  // Operations on tiles (some have nearly the name of an operator on values), and forms of the builder.
  Value word = thread_word("T." + name.str());
  if (name.view() == "sum" || name.view() == "tensor" || name.view().size() <= 4 || name.view().ends_with('_')) { return word; }
  std::vector<Name> names;
  namespaces().tirx.as<eval::Namespace>()->attribute_names(names);
  return eval::closest_name(name, names).empty() ? std::optional<Value>(word) : std::nullopt;
}

}  // namespace

auto namespace_t() -> const Value& { return namespaces().t; }
auto namespace_i() -> const Value& { return namespaces().i; }
auto namespace_tirx() -> const Value& { return namespaces().tirx; }
auto namespace_s_tir() -> const Value& { return namespaces().s_tir; }

auto predeclared(Name name) -> const Value* {
  static const Name t("T"), ts("Ts"), i("I"), tir("tir"), tirx("tirx"), tvm("tvm"), te("te");
  static const Name opaque_names[] = {"R", "topi", "np", "numpy"};
  if (name == t) { return &namespaces().t; }
  if (name == ts) { return &namespaces().s_tir; }
  if (name == tir || name == tirx) { return &namespaces().tir; }
  if (name == i) { return &namespaces().i; }
  static const Name index_map_name("IndexMap"), type_var_name("TypeVar");
  if (name == type_var_name) { return &namespaces().type_vars; }
  if (name == index_map_name) { return &namespaces().index_maps; }
  if (name == te) { return &namespaces().te; }
  if (name == tvm) { return &namespaces().tvm; }
  static const Value opaque = Value::opaque();
  for (Name o : opaque_names) {
    if (name == o) { return &opaque; }
  }
  return nullptr;
}

// A member of TVM's modules of the thread-level language: `from tvm.tirx.layout import TileLayout`, `from tvm.script.tirx import tile`.
auto thread_import(const syntax::ImportFromStmt& from, Name what) -> const Value* {
  static const Name tvm("tvm"), tirx("tirx"), script("script");
  if (from.level != 0 || from.module.size() < 2 || from.module[0].name != tvm) { return nullptr; }
  bool is_of_tirx = from.module.size() > 2 && (from.module[1].name == tirx || (from.module[1].name == script && from.module[2].name == tirx));
  bool is_tile = from.module[from.module.size() - 1].name == tirx && from.module[1].name == script;
  if (!is_of_tirx && !is_tile) { return nullptr; }
  static thread_local std::unordered_map<Name, Value> made;
  auto [at, is_new] = made.try_emplace(what);
  if (is_new) { at->second = thread_word("T." + what.str()); }
  return &at->second;
}

auto imported(const syntax::ImportFromStmt& from, const syntax::ImportName& name) -> const Value* {
  static const Name tirx("tirx"), tir("tir"), s_tir("s_tir"), ir("ir"), upper_i("I"), script("script");
  Name what = name.path.empty() ? Name() : name.path.back().name;
  bool from_script = std::any_of(from.module.begin(), from.module.end(), [](const syntax::Identifier& part) { return part.name == script; });
  if (from_script && what == tirx) { return &namespaces().tirx; }
  if (from_script && what == s_tir) { return &namespaces().s_tir; }
  if (what == tirx) { what = tir; }
  if (what == tir && from_script) { return &namespaces().t_imported; }
  if (what == ir && from_script) { what = upper_i; }
  // `from tvm.script.tir import prim_func`: a member of the namespace.
  if (from_script && !from.module.empty()) {
    Name last = from.module.back().name;
    const Value* space = last == tir ? &namespaces().t_imported : last == tirx ? &namespaces().tirx : last == s_tir ? &namespaces().s_tir : last == ir ? &namespaces().i : nullptr;
    // `from tvm.script import ir_module`: a member of the package itself.
    if (last == script) { space = namespaces().tvm.as<eval::Namespace>()->find(script); }
    const Value* member = space ? space->as<eval::Namespace>()->find(what) : nullptr;
    if (member) { return member; }
  }
  // `from tvm.tir.stmt import Block`, `from tvm.target import Target`: a member of Python's modules.
  static const Name tvm("tvm");
  if (from.module.size() > 1 && from.module[0].name == tvm && !from_script) {
    const Value* space = from.module[1].name == tir || from.module[1].name == tirx ? &namespaces().tir : namespaces().tvm.as<eval::Namespace>()->find(from.module[1].name);
    const auto* members = space ? space->as<eval::Namespace>() : nullptr;
    // `from tvm.topi.utils import traverse_inline`
    const auto* deepest = members;
    for (uint32_t i = 2; deepest && i < from.module.size(); ++i) {
      const Value* part = deepest->find(from.module[i].name);
      deepest = part ? part->as<eval::Namespace>() : nullptr;
    }
    const Value* member = deepest ? deepest->find(what) : nullptr;
    if (!member) { member = members ? members->find(what) : nullptr; }
    if (member) { return member; }
  }
  // `from tvm import script`: a module that `tvm` has.
  if (from.module.size() == 1 && from.module[0].name == tvm && what != tir) {
    if (const Value* member = namespaces().tvm.as<eval::Namespace>()->find(what)) { return member; }
  }
  if (const Value* word = thread_import(from, what)) { return word; }
  return predeclared(what);
}

}  // namespace loopsmith::frontend
