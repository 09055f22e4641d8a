// Scopes, their heap, frames and functions: see evaluator.h.
#include "eval/evaluator.h"

namespace loopsmith::eval {

const TypeTag Function::type_tag{"function"};

void destroy(const Scope* scope) { delete scope; }

Heap::~Heap() {
  // Emptying a scope may free other scopes, so each is removed from the list first.
  while (first_) {
    Ref<Scope> keep(first_);
    Scope* scope = first_;
    first_ = scope->next_;
    if (first_) { first_->previous_ = nullptr; }
    scope->heap_ = nullptr;
    scope->next_ = scope->previous_ = nullptr;
    auto slots = std::move(scope->slots_);
    scope->slots_.clear();
    slots.clear();
  }
}

Scope::Scope(Heap* heap, Ref<Scope> parent) : heap_(heap), parent_(std::move(parent)) {
  if (!heap_) { return; }
  next_ = heap_->first_;
  if (next_) { next_->previous_ = this; }
  heap_->first_ = this;
}
Scope::~Scope() {
  if (!heap_) { return; }
  if (next_) { next_->previous_ = previous_; }
  if (previous_) { previous_->next_ = next_; } else { heap_->first_ = next_; }
}

// A program of thousands of lines may name hundreds of buffers; most scopes have a few names.
constexpr size_t few_slots = 24;

auto Scope::slot(Name name) const -> std::pair<Name, Value>* {
  if (slots_.size() <= few_slots) {
    for (auto& slot : slots_) {
      if (slot.first == name) { return &slot; }
    }
    return nullptr;
  }
  if (index_.size() != slots_.size()) {
    index_.clear();
    for (size_t i = 0; i < slots_.size(); ++i) { index_.emplace(slots_[i].first, static_cast<uint32_t>(i)); }
  }
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &slots_[found->second];
}

auto Scope::find_here(Name name) const -> const Value* {
  const auto* found = slot(name);
  return found == nullptr ? nullptr : &found->second;
}
auto Scope::find(Name name) const -> const Value* {
  for (const Scope* scope = this; scope; scope = scope->parent_.get()) {
    if (const Value* found = scope->find_here(name)) { return found; }
  }
  return nullptr;
}
void Scope::set(Name name, Value value) const {
  if (auto* found = slot(name)) {
    found->second = std::move(value);
    return;
  }
  slots_.emplace_back(name, std::move(value));
  if (slots_.size() > few_slots + 1) { index_.emplace(name, static_cast<uint32_t>(slots_.size() - 1)); }
}
auto Scope::erase(Name name) const -> bool {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].first == name) {
      slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(i));
      index_.clear();
      return true;
    }
  }
  return false;
}
void Scope::names(std::vector<Name>& out) const {
  for (const Scope* scope = this; scope; scope = scope->parent_.get()) {
    for (const auto& slot : scope->slots_) { out.push_back(slot.first); }
  }
}

namespace {

// Scopes are not objects; a wrapper lets the cloner record them like objects.
class ScopeBox final : public Object {
 public:
  static const TypeTag type_tag;
  const ScopeRef scope;
  explicit ScopeBox(ScopeRef s) : Object(&type_tag), scope(std::move(s)) {}
};
const TypeTag ScopeBox::type_tag{"scope"};

}  // namespace

auto clone_scope(const ScopeRef& scope, Cloner& cloner) -> ScopeRef {
  if (!scope) { return {}; }
  // The key only has to be a unique address; it is never dereferenced.
  const auto* key = reinterpret_cast<const Object*>(scope.get());
  if (const Object* copy = cloner.find(key)) { return copy->as<ScopeBox>()->scope; }
  ScopeRef copy(new Scope(scope->heap_, {}));
  Ref<ScopeBox> box = make_object<ScopeBox>(copy);
  cloner.remember(key, box.get());
  const_cast<Scope&>(*copy).parent_ = clone_scope(scope->parent(), cloner);
  copy->slots_.reserve(scope->slots_.size());
  for (const auto& [name, value] : scope->slots_) { copy->slots_.emplace_back(name, cloner.clone(value)); }
  return copy;
}

auto Function::clone(Cloner& cloner) const -> std::optional<Value> {
  if (!captured) { return {}; }
  ScopeRef copy = clone_scope(captured, cloner);
  // Cloning the scope may have cloned this function as well.
  if (const Object* done = cloner.find(this)) { return Value(done); }
  return make_object<Function>(def, lambda, std::move(copy), defaults, keep_alive, globals);
}
auto Function::repr() const -> std::string { return "<function " + name().str() + ">"; }
auto Function::call(Evaluator& evaluator, const Arguments& arguments) const -> std::optional<Value> {
  return evaluator.call_function(Ref<Function>(this), arguments);
}
auto Function::get_attribute(Evaluator&, Name attribute, Origin) const -> std::optional<Value> {
  static const Name dunder_name("__name__");
  if (attribute == dunder_name) { return Value::str(name().str()); }
  return Value::opaque();
}
auto Function::set_attribute(Evaluator&, Name, const Argument&, Origin) const -> bool { return true; }

auto Frame::snapshot() const -> Frame {
  Cloner cloner;
  return snapshot(cloner);
}
auto Frame::snapshot(Cloner& cloner) const -> Frame {
  Frame out = *this;
  out.scope = clone_scope(scope, cloner);
  out.result = cloner.clone(result);
  return out;
}

}  // namespace loopsmith::eval
