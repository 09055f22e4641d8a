// The script printer: names of variables and buffers, declarations for those without a definition, and the recorded ranges of text.
#include <algorithm>
#include <unordered_set>

#include "ir/ops.h"
#include "ir/printer/script_printer.h"
#include "support/text.h"

namespace loopsmith {

namespace {

// Names that have another meaning in the printed text.
auto is_reserved(std::string_view name) -> bool { return name == "T" || name == "Ts" || name == "I" || name == "range" || is_python_keyword(name); }

}  // namespace

auto ScriptPrinter::push_frame(const void* node) -> Frame& {
  Frame frame;
  frame.node = node;
  frame.stmt_begin = frames_.empty() ? out_.size() : frames_.back().stmt_begin;
  frame.indent = frames_.empty() ? indent_ : frames_.back().indent;
  frames_.push_back(std::move(frame));
  return frames_.back();
}

void ScriptPrinter::pop_frame() {
  for (const void* object : frames_.back().defined) {
    auto found = objects_.find(object);
    if (found == objects_.end()) { continue; }
    if (found->second.part == Part::Named) { names_.erase(found->second.name); }
    objects_.erase(found);
  }
  frames_.pop_back();
}

auto ScriptPrinter::is_loop_frame(const Frame& frame) const -> bool {
  return frame.node != root_func_.get() && static_cast<const StmtNode*>(frame.node)->kind == NodeKind::For;
}

auto ScriptPrinter::define_in(Frame& frame, const void* object, Name hint) -> Name {
  auto found = objects_.find(object);
  if (found != objects_.end() && found->second.part == Part::Named) { return found->second.name; }
  Name name = unique(hint);
  names_.insert(name);
  objects_[object] = Entry{name, Part::Named, nullptr, 0};
  frame.defined.push_back(object);
  return name;
}

void ScriptPrinter::define_part(const void* object, const BufferNode* buffer, Part part, int index) {
  objects_[object] = Entry{Name(), part, buffer, index};
  frames_.back().defined.push_back(object);
}

auto ScriptPrinter::unique(Name hint) -> Name {
  if (!is_clean(hint.view())) {
    std::string text = hint.str();
    for (char& c : text) {
      bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!letter) { c = '_'; }
    }
    if (text.empty() || (text[0] >= '0' && text[0] <= '9')) { text.insert(0, "_"); }
    hint = Name(text);
  }
  if (names_.count(hint) == 0 && !is_reserved(hint.view())) { return hint; }
  std::string text;
  for (int i = 1;; ++i) {
    text = hint.str();
    text += '_';
    text += std::to_string(i);
    Name candidate(text);
    if (names_.count(candidate) == 0) { return candidate; }
  }
}

auto ScriptPrinter::is_clean(std::string_view text) -> bool {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) { return false; }
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

auto ScriptPrinter::lookup_name(const void* object) const -> std::string_view {
  auto found = objects_.find(object);
  return found == objects_.end() ? std::string_view("?") : found->second.name.view();
}

void ScriptPrinter::variable(const VarNode& v) {
  auto found = objects_.find(&v);
  if (found == objects_.end()) {
    if (!declares_free()) {
      define_in(frames_.empty() ? push_frame(nullptr) : frames_.front(), &v, v.name.empty() ? Name("v") : v.name);
    } else {
      declare_free(&v);
    }
    found = objects_.find(&v);
  }
  const Entry entry = found->second;
  switch (entry.part) {
    case Part::Named: out_ += entry.name.view(); return;
    case Part::Data: buffer_name(*entry.buffer); out_ += ".data"; return;
    case Part::Offset: buffer_name(*entry.buffer); out_ += ".elem_offset"; return;
    case Part::Stride:
      buffer_name(*entry.buffer);
      out_ += ".strides[";
      integer(entry.index);
      out_ += ']';
      return;
  }
}

void ScriptPrinter::buffer_name(const BufferNode& buffer) {
  auto found = objects_.find(&buffer);
  if (found == objects_.end()) {
    Name hint = buffer.name.empty() ? Name("buffer") : buffer.name;
    if (!declares_free()) {
      define_in(frames_.empty() ? push_frame(nullptr) : frames_.front(), &buffer, hint);
    } else {
      Frame& frame = frame_of(&buffer);
      size_t index = static_cast<size_t>(&frame - frames_.data());
      Name name = define_in(frame, &buffer, hint);
      // The arguments may need further declarations, in the same frame and in front of this one.
      Mark mark(*this);
      std::swap(frames_[index], frames_.back());
      buffer_arguments(Buffer(&buffer), VarDefinition::DataPointer, true);
      std::swap(frames_[index], frames_.back());
      std::string arguments = mark.cut();
      insert_before(frames_[index], name.str() + (is_tensor() ? " = T.Tensor(" : " = T.Buffer(") + arguments + ")");
    }
    found = objects_.find(&buffer);
  }
  out_ += found->second.name.view();
}

auto ScriptPrinter::scopes() -> const UseScopes& {
  if (!scopes_) {
    scopes_ = std::make_unique<UseScopes>(root_func_ ? static_cast<const void*>(root_func_.get()) : fragment_root_.get());
    if (root_func_) {
      for (const Var& v : root_func_->params) { scopes_->note(v); }
      for (const auto& [param, buffer] : root_func_->buffer_map) { scopes_->note(buffer); }
      scopes_->enter(root_func_->body);
    } else if (fragment_root_) {
      scopes_->visit(fragment_root_);
    }
  }
  return *scopes_;
}

auto ScriptPrinter::frame_of(const void* object) -> Frame& {
  if (const UseScopes::Path* path = scopes().of(object)) {
    for (auto node = path->rbegin(); node != path->rend(); ++node) {
      for (size_t i = frames_.size(); i-- > 0;) {
        if (frames_[i].node == *node) { return frames_[i]; }
      }
    }
  }
  return frames_.front();
}

void ScriptPrinter::declare_free(const VarNode* v) {
  if (!declares_free()) {
    define_in(frames_.empty() ? push_frame(nullptr) : frames_.front(), v, v->name.empty() ? Name("v") : v->name);
    return;
  }
  Frame& frame = frame_of(v);
  Name name = define_in(frame, v, v->name.empty() ? Name("v") : v->name);
  Mark mark(*this);
  var_creation(*v);
  std::string creation = mark.cut();
  insert_before(frame, name.str() + " = " + creation);
}

void ScriptPrinter::declare_env_thread(const IterVar& iter) {
  Frame& frame = frame_of(iter.var.get());
  Name name = define_in(frame, iter.var.get(), iter.var->name.empty() ? Name("v") : iter.var->name);
  insert_before(frame, name.str() + " = T.env_thread(" + string_text(iter.thread_tag.view()) + ")");
}

void ScriptPrinter::insert_before(const Frame& target, const std::string& line) {
  size_t at = target.stmt_begin;
  std::string text(static_cast<size_t>(target.indent), ' ');
  text += line;
  text += '\n';
  out_.insert(at, text);
  size_t n = text.size();
  for (Frame& frame : frames_) {
    if (frame.stmt_begin >= at) { frame.stmt_begin += n; }
  }
  for (size_t* mark : marks_) {
    if (*mark >= at) { *mark += n; }
  }
  if (options_.ranges) {
    auto move = [&](uint32_t& offset) {
      if (offset >= at) { offset += static_cast<uint32_t>(n); }
    };
    for (PrintedRange& r : *options_.ranges) {
      move(r.begin);
      move(r.end);
      move(r.name_begin);
      move(r.name_end);
    }
  }
}

void ScriptPrinter::var_type(const VarNode& v) {
  if (!v.pointer) {
    type_name(v.dtype);
    return;
  }
  var_creation(v);
}

void ScriptPrinter::var_creation(const VarNode& v) {
  if (v.pointer) {
    out_ += "T.handle(";
    dtype_literal(v.pointer->element);
    if (!v.pointer->scope.empty()) {
      out_ += ", ";
      string_literal(v.pointer->scope.view());
    }
    out_ += ')';
    return;
  }
  type_name(v.dtype);
  out_ += "()";
}

auto ScriptPrinter::add_range(const StmtNode* node, NodeId id, size_t begin) -> size_t {
  if (!options_.ranges) { return 0; }
  options_.ranges->push_back({node, id, static_cast<uint32_t>(begin), 0, 0, 0});
  return options_.ranges->size() - 1;
}

void ScriptPrinter::end_range(size_t index) {
  if (!options_.ranges) { return; }
  size_t end = out_.size();
  while (end > 0 && out_[end - 1] == '\n') { --end; }
  range_at(index).end = static_cast<uint32_t>(end);
}

void ScriptPrinter::name_range(size_t index, NodeId id, size_t begin) {
  if (!options_.ranges) { return; }
  range_at(index).id = id;
  range_at(index).name_begin = static_cast<uint32_t>(begin);
  range_at(index).name_end = static_cast<uint32_t>(out_.size());
}

}  // namespace loopsmith
