// Modules and functions as script, and the functions that printer.h declares. Statements, expressions, buffers and names are printed in
// printer/, by the class of printer/script_printer.h.
#include "ir/printer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>

#include "ir/ops.h"
#include "ir/printer/script_printer.h"
#include "ir/visitor.h"
#include "support/text.h"

namespace loopsmith {

namespace {

auto cut(std::string text, size_t limit) -> std::string {
  if (text.size() <= limit) { return text; }
  return std::string(first_bytes(text, limit > 3 ? limit - 3 : 0)) + "...";
}

}  // namespace

auto print_script(const IRModule& module, const PrintOptions& options) -> std::string {
  ScriptPrinter printer(options, options.override_dialect ? options.dialect : module->dialect);
  printer.module(module);
  return printer.take();
}
auto print_script(const PrimFunc& func, const PrintOptions& options) -> std::string {
  ScriptPrinter printer(options, options.dialect);
  printer.function_alone(func);
  return printer.take();
}
auto print_script(const Stmt& stmt, const PrintOptions& options) -> std::string {
  if (!stmt) { return "None"; }
  ScriptPrinter printer(options, options.dialect);
  printer.fragment(stmt);
  return printer.take();
}
auto print_script(const Expr& expr, const PrintOptions& options) -> std::string {
  if (!expr) { return "None"; }
  ScriptPrinter printer(options, options.dialect);
  printer.expr(expr);
  return printer.take();
}
auto print_script(const Buffer& buffer, const PrintOptions& options) -> std::string {
  PrintOptions plain = options;
  ScriptPrinter printer(plain, options.dialect);
  printer.fragment_buffer(buffer);
  return printer.take();
}
auto print_script(const BufferRegion& region, const PrintOptions& options) -> std::string {
  ScriptPrinter printer(options, options.dialect);
  printer.region(region);
  return printer.take();
}
auto print_script(const Range& range, const PrintOptions& options) -> std::string {
  ScriptPrinter printer(options, options.dialect);
  printer.slice(range);
  return printer.take();
}
auto print_script(const Attr& attr, const PrintOptions& options) -> std::string {
  ScriptPrinter printer(options, options.dialect);
  printer.attr(attr);
  return printer.take();
}
auto target_key() -> Name {
  static const Name key("T.target");
  return key;
}
auto target_attr(const Attr& attr) -> const Attr* {
  const auto* map = std::get_if<AttrMap>(&attr.value);
  return map && map->size() == 1 && (*map)[0].first == target_key() ? &(*map)[0].second : nullptr;
}

auto print_script(const AttrMap& attrs, const PrintOptions& options) -> std::string {
  ScriptPrinter printer(options, options.dialect);
  printer.attrs(attrs);
  return printer.take();
}
auto print_script(const IndexMap& map, const PrintOptions& options) -> std::string {
  ScriptPrinter printer(options, options.dialect);
  printer.index_map(map);
  return printer.take();
}

auto print_debug(const Expr& expr, size_t limit) -> std::string { return cut(print_script(expr), limit); }
auto print_debug(const Stmt& stmt, size_t limit) -> std::string {
  std::string text = print_script(stmt);
  size_t end = text.find('\n');
  if (end != std::string::npos) { text.resize(end); }
  return cut(std::move(text), limit);
}

auto float_text(double value) -> std::string {
  if (std::isnan(value)) { return "\"nan\""; }
  if (std::isinf(value)) { return value < 0 ? "\"-inf\"" : "\"inf\""; }
  char text[400];
  bool whole = std::nearbyint(value) == value;
  int n = std::snprintf(text, sizeof text, whole ? "%.1f" : "%.17g", value);
  return std::string(text, static_cast<size_t>(n));
}

auto string_text(std::string_view text) -> std::string {
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  for (char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          char hex[8];
          std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
          out += hex;
        } else {
          out += c;
        }
    }
  }
  out += '"';
  return out;
}


// ---- modules and functions --------------------------------------------------------------------------------------

auto ScriptPrinter::take() -> std::string {
  while (!out_.empty() && (out_.back() == '\n' || out_.back() == ' ')) { out_.pop_back(); }
  if (options_.ranges) {
    for (PrintedRange& r : *options_.ranges) {
      r.end = std::min(r.end, static_cast<uint32_t>(out_.size()));
    }
  }
  return std::move(out_);
}

void ScriptPrinter::module(const IRModule& mod) {
  if (options_.header) {
    out_ += "# from tvm.script import ir as I\n";
    if (!mod->functions.empty()) { out_ += "# from tvm.script import tir as T\n"; }
    out_ += '\n';
  }
  out_ += "@I.ir_module\nclass Module:\n";
  names_.insert(Name("Module"));
  in_module_ = true;
  indent_ = 4;
  bool any = false;
  if (!mod->attrs.empty()) {
    pad();
    out_ += "I.module_attrs(";
    attrs(mod->attrs);
    out_ += ")\n";
    any = true;
  }
  // As TVM orders them: by name, `main` last.
  std::vector<const std::pair<Name, PrimFunc>*> order;
  for (const auto& item : mod->functions) { order.push_back(&item); }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    bool a_main = a->first == "main";
    bool b_main = b->first == "main";
    return a_main != b_main ? b_main : a->first < b->first;
  });
  for (const auto* item : order) {
    func(item->second, item->first);
    out_ += '\n';
    any = true;
  }
  if (!any) { out_ += "    pass\n"; }
}

void ScriptPrinter::function_alone(const PrimFunc& fn) {
  if (options_.header) { out_ += "# from tvm.script import tir as T\n\n"; }
  func(fn, options_.function_name);
}

void ScriptPrinter::func(const PrimFunc& fn, Name name) {
  root_func_ = fn;
  scopes_.reset();
  (void)push_frame(fn.get());
  pad();
  out_ += fn->is_private ? "@T.prim_func(private=True)\n" : "@T.prim_func\n";
  pad();
  out_ += "def ";
  out_ += name.view();
  std::unordered_set<const BufferNode*> declared = parameters(*fn);
  indent_ += 4;
  size_t body_begin = out_.size();
  if (!fn->attrs.empty()) {
    begin_line();
    out_ += "T.func_attr(";
    attrs(fn->attrs);
    out_ += ")\n";
  }
  for (const Var& param : fn->params) {
    Buffer buffer = fn->buffer_of(param);
    if (!buffer || declared.count(buffer.get())) { continue; }
    begin_line();
    out_ += define(buffer.get(), buffer->name.empty() ? Name("buffer") : buffer->name).view();
    out_ += " = T.match_buffer(";
    out_ += lookup_name(param.get());
    buffer_arguments(buffer, VarDefinition::MatchBuffer, false);
    out_ += ")\n";
  }
  if (const Block* root = implicit_root(fn)) {
    begin_line();
    size_t start = out_.size();
    out_ += sblock_ ? "# with T.sblock(\"root\"):" : "# with T.block(\"root\"):";
    size_t range = add_range(root, root->id, start);
    out_ += '\n';
    for (const Buffer& buffer : root->alloc_buffers) { alloc_buffer(buffer); }
    body(root->body);
    end_range(range);
  } else {
    body(fn->body);
  }
  if (out_.size() == body_begin) {
    pad();
    out_ += "pass\n";
  }
  indent_ -= 4;
  pop_frame();
}

auto ScriptPrinter::parameters(const PrimFuncNode& fn) -> std::unordered_set<const BufferNode*> {
  out_ += '(';
  std::unordered_map<const VarNode*, int> data_users;
  for (const auto& [param, buffer] : fn.buffer_map) { ++data_users[buffer->data.get()]; }
  std::unordered_set<const BufferNode*> declared;
  std::unordered_set<const VarNode*> used_params;
  if (!fn.buffer_map.empty()) { find_used_params(fn, used_params); }
  bool first = true;
  for (const Var& param : fn.params) {
    comma(first);
    Buffer buffer = fn.buffer_of(param);
    if (buffer && is_simple(buffer) && data_users[buffer->data.get()] == 1 && used_params.count(param.get()) == 0) {
      out_ += define(buffer.get(), buffer->name.empty() ? Name("buffer") : buffer->name).view();
      out_ += ": T.Buffer(";
      shape_tuple(buffer->shape);
      out_ += ", ";
      dtype_literal(buffer->dtype);
      out_ += ')';
      // The data pointer is printed through the buffer, as `A.data`.
      define_part(buffer->data.get(), buffer.get(), Part::Data);
      declared.insert(buffer.get());
      continue;
    }
    out_ += define_var(param.get()).view();
    out_ += ": ";
    var_type(*param);
  }
  out_ += ')';
  if (!fn.ret_type.is_void()) {
    out_ += " -> ";
    type_name(fn.ret_type);
  }
  out_ += ":\n";
  return declared;
}

auto ScriptPrinter::is_simple(const Buffer& buffer) -> bool {
  if (!buffer->strides.empty() || !(buffer->scope() == "global") || buffer->data_alignment != 64 || buffer->offset_factor != 1 ||
      buffer->buffer_kind != BufferKind::Default || !buffer->axis_separators.empty()) {
    return false;
  }
  if (buffer->elem_offset && !is_zero(buffer->elem_offset)) { return false; }
  return std::all_of(buffer->shape.begin(), buffer->shape.end(),
                     [](const Expr& e) { return e.kind() == NodeKind::IntImm || !uses_var(e, [](const VarNode&) { return true; }); });
}

void ScriptPrinter::find_used_params(const PrimFuncNode& fn, std::unordered_set<const VarNode*>& used) {
  std::unordered_map<const VarNode*, int> listed;
  for (const Var& param : fn.params) {
    if (++listed[param.get()] > 1) { used.insert(param.get()); }
  }
  auto note = [&](const VarNode& v) {
    if (listed.count(&v)) { used.insert(&v); }
    return false;
  };
  for (const auto& [param, buffer] : fn.buffer_map) {
    (void)param;
    note(*buffer->data);
    auto check = [&](const Expr& e) {
      if (e && e.kind() != NodeKind::IntImm) { (void)uses_var(e, note); }
    };
    for (const Expr& e : buffer->shape) { check(e); }
    for (const Expr& e : buffer->strides) { check(e); }
    check(buffer->elem_offset);
  }
  (void)uses_var(fn.body, note);
}

auto ScriptPrinter::contains_block(const Stmt& s) -> bool {
  switch (s.kind()) {
    case NodeKind::BlockRealize: return true;
    case NodeKind::For: return contains_block(s.as<For>()->body);
    case NodeKind::SeqStmt: {
      const auto& seq = s.as<SeqStmt>()->seq;
      return std::any_of(seq.begin(), seq.end(), contains_block);
    }
    default: {
      bool found = false;
      visit_children(s, [](const Expr&) {}, [&](const Stmt& child) { found = found || contains_block(child); });
      return found;
    }
  }
}

auto ScriptPrinter::implicit_root(const PrimFunc& fn) -> const Block* {
  const auto* realize = fn->body.as<BlockRealize>();
  if (!realize || !realize->iter_values.empty() || !is_true(realize->predicate)) { return nullptr; }
  const Block& root = *realize->block;
  if (!root.iter_vars.empty() || !root.annotations.empty() || !root.match_buffers.empty() || !root.reads.empty() || !root.writes.empty() || root.init) {
    return nullptr;
  }
  const auto* inner = root.body.as<BlockRealize>();
  bool shown = !root.alloc_buffers.empty() || (inner && !inner->block->iter_vars.empty()) || (!inner && contains_block(root.body));
  return shown ? &root : nullptr;
}

}  // namespace loopsmith
