// Prints modules and functions as script, and defines the functions of printer.h. Statements, expressions, buffers and names are printed in
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


namespace {

// Attributes of functions as TVM spells them since 0.24: `tirx.noalias`.
auto in_recent_words(const AttrMap& attrs) -> AttrMap {
  AttrMap out;
  for (const auto& [key, value] : attrs) {
    bool is_older = key.view().starts_with("tir.");
    out = with_attr(out, is_older ? Name("tirx." + std::string(key.view().substr(4))) : key, value);
  }
  return out;
}

}  // namespace

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
    bool has_blocks = std::any_of(mod->functions.begin(), mod->functions.end(), [](const auto& entry) { return has_own_blocks(*entry.second); });
    if (!mod->functions.empty()) { imports(has_blocks); }
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
  // The order of TVM: by name, `main` last.
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
  if (options_.header) {
    imports(has_own_blocks(*fn));
    out_ += '\n';
  }
  func(fn, options_.function_name);
}

void ScriptPrinter::imports(bool has_blocks) {
  if (has_blocks && dialects::has_ts(dialect_)) { out_ += "# from tvm.script import s_tir as Ts\n"; }
  out_ += sblock_ ? "# from tvm.script import tirx as T\n" : "# from tvm.script import tir as T\n";
}

auto ScriptPrinter::has_own_blocks(const PrimFuncNode& fn) -> bool {
  const auto* root = fn.body.as<BlockRealize>();
  if (!root) { return contains_block(fn.body); }
  const Block& block = *root->block;
  bool is_plain = root->iter_values.empty() && block.alloc_buffers.empty() && block.annotations.empty() && block.reads.empty() && block.writes.empty() && !block.init;
  return !is_plain || contains_block(block.body);
}

void ScriptPrinter::decorator(const PrimFuncNode& fn) {
  const bool has_blocks = has_own_blocks(fn);
  out_ += has_blocks && dialects::has_ts(dialect_) ? "@Ts." : "@T.";
  out_ += is_tensor() ? "function" : "prim_func";
  const bool is_marked = has_blocks && dialect_ == dialects::s_tir;
  if (fn.is_private || is_marked) {
    out_ += '(';
    out_ += fn.is_private ? "private=True" : "";
    out_ += fn.is_private && is_marked ? ", " : "";
    out_ += is_marked ? "s_tir=True" : "";
    out_ += ')';
  }
  out_ += '\n';
}

void ScriptPrinter::shape_variables(const PrimFuncNode& fn) {
  if (!dialects::has_ts(dialect_)) { return; }
  std::vector<const VarNode*> found;
  for (const Var& param : fn.params) {
    Buffer buffer = fn.buffer_of(param);
    if (!buffer) { continue; }
    for (const Expr& extent : buffer->shape) {
      const auto* var = extent.as<VarNode>();
      bool is_param = std::any_of(fn.params.begin(), fn.params.end(), [&](const Var& p) { return p.get() == var; });
      if (var && !is_param && shape_variables_.insert(var).second) { found.push_back(var); }
    }
  }
  bool first = true;
  for (const VarNode* var : found) {
    out_ += first ? "[" : ", ";
    first = false;
    out_ += define_var(var).view();
    out_ += ": ";
    type_name(var->dtype);
  }
  if (!first) { out_ += ']'; }
}

void ScriptPrinter::func(const PrimFunc& fn, Name name) {
  root_func_ = fn;
  scopes_.reset();
  (void)push_frame(fn.get());
  pad();
  decorator(*fn);
  pad();
  out_ += "def ";
  out_ += name.view();
  shape_variables_.clear();
  shape_variables(*fn);
  std::unordered_set<const BufferNode*> declared = parameters(*fn);
  indent_ += 4;
  size_t body_begin = out_.size();
  if (!fn->attrs.empty()) {
    begin_line();
    out_ += "T.func_attr(";
    attrs(sblock_ ? in_recent_words(fn->attrs) : fn->attrs);
    out_ += ")\n";
  }
  for (const Var& param : fn->params) {
    Buffer buffer = fn->buffer_of(param);
    if (!buffer || declared.count(buffer.get())) { continue; }
    begin_line();
    out_ += define(buffer.get(), buffer->name.empty() ? Name("buffer") : buffer->name).view();
    out_ += is_tensor() ? " = T.match_tensor(" : " = T.match_buffer(";
    out_ += lookup_name(param.get());
    buffer_arguments(buffer, VarDefinition::MatchBuffer, false);
    out_ += ")\n";
  }
  if (const Block* root = implicit_root(fn)) {
    begin_line();
    size_t start = out_.size();
    out_ += "# with ";
    out_ += of_blocks();
    out_ += sblock_ ? "sblock(\"root\"):" : "block(\"root\"):";
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
      out_ += is_tensor() ? ": T.Tensor(" : ": T.Buffer(";
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

auto ScriptPrinter::is_simple(const Buffer& buffer) const -> bool {
  if (!buffer->strides.empty() || !(buffer->scope() == "global") || buffer->data_alignment != 64 || buffer->offset_factor != 1 ||
      buffer->buffer_kind != BufferKind::Default || !buffer->axis_separators.empty()) {
    return false;
  }
  if (buffer->elem_offset && !is_zero(buffer->elem_offset)) { return false; }
  return std::all_of(buffer->shape.begin(), buffer->shape.end(), [&](const Expr& e) {
    return e.kind() == NodeKind::IntImm || !uses_var(e, [](const VarNode&) { return true; }) || (e.as<VarNode>() && shape_variables_.count(e.as<VarNode>()) != 0);
  });
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
