// Lowers returns: see returns.h.
#include "transform/returns.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::transform {
namespace {

auto joined(const Stmt& first, const Stmt& rest) -> Stmt {
  if (!first) { return rest; }
  return rest ? seq({first, rest}, first.origin()) : first;
}

auto make_cell(const char* name, DataType type, Origin origin, Name scope) -> Buffer {
  BufferNode node;
  node.name = Name(name);
  node.origin = origin;
  node.dtype = type;
  node.shape = Array<Expr>{int_imm(1)};
  node.data = make<VarNode>(Name(name), DataType::handle(), origin, PointerType{type, scope});
  node.data_alignment = 64;
  node.offset_factor = 1;
  return make_buffer(std::move(node));
}

auto is_read(const Stmt& stmt, const BufferNode& cell) -> bool {
  bool found = false;
  post_order(stmt, [](const Stmt&) {}, [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    found = found || (load && load->buffer.get() == &cell);
  });
  return found;
}
class WithoutStores : public Mutator {
 public:
  using Mutator::on;
  explicit WithoutStores(Buffer cell) : cell_(std::move(cell)) {}
  auto on(const BufferStore& n) -> Stmt override { return n.buffer == cell_ ? Stmt(make<Evaluate>(int_imm(0), n.origin)) : Mutator::on(n); }

 private:
  Buffer cell_;
};

auto put(const Buffer& cell, Expr value) -> Stmt { return make<BufferStore>(cell, std::move(value), Array<Expr>{int_imm(0)}, cell->origin); }

}  // namespace

auto as_return(const Stmt& s) -> const Call* {
  static const Name ret("ret");
  const auto* evaluate = s.as<Evaluate>();
  const auto* call = evaluate ? evaluate->value.as<Call>() : nullptr;
  return call && call->op == ret ? call : nullptr;
}

auto count_returns(const Stmt& s) -> int {
  int n = 0;
  post_order(s, [&](const Stmt& x) { n += as_return(x) ? 1 : 0; }, [](const Expr&) {});
  return n;
}

auto always_returns(const Stmt& s) -> bool {
  if (as_return(s)) { return true; }
  if (const auto* all = s.as<SeqStmt>()) { return std::any_of(all->seq.begin(), all->seq.end(), always_returns); }
  if (const auto* branch = s.as<IfThenElse>()) { return branch->else_case && always_returns(branch->then_case) && always_returns(branch->else_case); }
  if (const auto* n = s.as<LetStmt>()) { return always_returns(n->body); }
  if (const auto* n = s.as<DeclBuffer>()) { return always_returns(n->body); }
  if (const auto* n = s.as<Allocate>()) { return always_returns(n->body); }
  if (const auto* n = s.as<AttrStmt>()) { return always_returns(n->body); }
  return false;
}

auto without_return(const Stmt& s, const Stmt& rest) -> std::optional<Stmt> {
  if (count_returns(s) == 0) { return joined(s, rest); }
  if (as_return(s)) { return no_op(); }
  if (const auto* all = s.as<SeqStmt>()) {
    std::vector<Stmt> kept;
    for (size_t i = 0; i < all->seq.size(); ++i) {
      if (count_returns(all->seq[i]) == 0) { kept.push_back(all->seq[i]); continue; }
      Stmt after = rest;
      if (i + 1 < all->seq.size()) {
        auto following = without_return(seq(std::vector<Stmt>(all->seq.begin() + static_cast<std::ptrdiff_t>(i) + 1, all->seq.end()), all->origin), rest);
        if (!following) { return std::nullopt; }
        after = std::move(*following);
      }
      auto last = without_return(all->seq[i], after);
      if (!last) { return std::nullopt; }
      kept.push_back(std::move(*last));
      break;
    }
    return seq(std::move(kept), all->origin);
  }
  if (const auto* branch = s.as<IfThenElse>()) {
    // `rest` must not be duplicated.
    bool first_goes_on = !always_returns(branch->then_case);
    bool second_goes_on = !branch->else_case || !always_returns(branch->else_case);
    if (rest && first_goes_on && second_goes_on) { return std::nullopt; }
    auto then_case = without_return(branch->then_case, first_goes_on ? rest : Stmt());
    Stmt other = second_goes_on ? rest : Stmt();
    auto else_case = branch->else_case ? without_return(branch->else_case, other) : std::optional<Stmt>(other);
    if (!then_case || !else_case) { return std::nullopt; }
    return Stmt(make<IfThenElse>(branch->condition, std::move(*then_case), std::move(*else_case), branch->origin));
  }
  // Rebuilds the statements around the rest of a body.
  auto around = [&](const auto* n, auto&& make_again) -> std::optional<Stmt> {
    auto body = without_return(n->body, rest);
    return body ? std::optional<Stmt>(make_again(*n, std::move(*body))) : std::nullopt;
  };
  if (const auto* n = s.as<LetStmt>()) { return around(n, [](const LetStmt& x, Stmt body) { return Stmt(make<LetStmt>(x.var, x.value, std::move(body), x.origin)); }); }
  if (const auto* n = s.as<DeclBuffer>()) { return around(n, [](const DeclBuffer& x, Stmt body) { return Stmt(make<DeclBuffer>(x.buffer, std::move(body), x.origin)); }); }
  if (const auto* n = s.as<Allocate>()) {
    return around(n, [](const Allocate& x, Stmt body) { return Stmt(make<Allocate>(x.data, x.dtype, x.extents, x.condition, std::move(body), x.annotations, x.origin)); });
  }
  if (const auto* n = s.as<AttrStmt>()) { return around(n, [](const AttrStmt& x, Stmt body) { return Stmt(make<AttrStmt>(x.node, x.key, x.value, std::move(body), x.origin)); }); }
  return std::nullopt;
}

auto without_values(const Stmt& s) -> Stmt {
  static const Name ret("ret");
  struct Drop : Mutator {
    using Mutator::on;
    auto on(const Evaluate& n) -> Stmt override {
      const Call* call = as_return(self(n));
      if (!call || call->args.empty()) { return self(n); }
      return make<Evaluate>(Expr(make<Call>(DataType::void_(), ret, Array<Expr>{}, call->origin)), n.origin);
    }
  };
  return Drop().mutate(s);
}

Leaver::Leaver(DataType type, Origin origin, Name scope) : done_(make_cell("returned", DataType::bool_(), origin, scope)) {
  if (!type.is_void() && !type.is_handle()) { value_ = make_cell("value", type, origin, scope); }
}

auto Leaver::is_done() const -> Expr { return make<BufferLoad>(done_, Array<Expr>{int_imm(0)}, done_->origin); }

auto Leaver::run(const Stmt& body) -> std::optional<Stmt> {
  auto out = leave(body, false);
  if (!out) { return std::nullopt; }
  if (!is_read(*out, *done_)) {
    // Nothing follows that the flag would skip.
    out = WithoutStores(done_).mutate(*out);
    done_ = {};
    return out;
  }
  return seq({put(done_, bool_imm(false)), std::move(*out)}, body.origin());
}

auto Leaver::around(Stmt body) const -> Stmt {
  for (const Buffer& cell : {done_, value_}) {
    if (!cell) { continue; }
    body = make<DeclBuffer>(cell, std::move(body), cell->origin);
    body = make<Allocate>(cell->data, cell->dtype, cell->shape, bool_imm(true), std::move(body), AttrMap(), cell->origin);
  }
  return body;
}

auto Leaver::leave(const Stmt& s, bool in_loop) -> std::optional<Stmt> {
  if (count_returns(s) == 0) { return s; }
  if (const Call* ret = as_return(s)) {
    std::vector<Stmt> out;
    if (value_ && ret->args.size() == 1 && ret->args[0].dtype() == value_->dtype) { out.push_back(put(value_, ret->args[0])); }
    else if (value_) { return std::nullopt; }
    out.push_back(put(done_, bool_imm(true)));
    if (in_loop) { out.push_back(make<Break>(s.origin())); }
    return seq(std::move(out), s.origin());
  }
  if (const auto* all = s.as<SeqStmt>()) {
    std::vector<Stmt> kept;
    for (size_t i = 0; i < all->seq.size(); ++i) {
      auto own = leave(all->seq[i], in_loop);
      if (!own) { return std::nullopt; }
      kept.push_back(std::move(*own));
      // In a loop, `break` skips the statements behind it. Outside, they run only if the flag is not set.
      if (in_loop || count_returns(all->seq[i]) == 0 || i + 1 == all->seq.size()) { continue; }
      auto rest = leave(seq(std::vector<Stmt>(all->seq.begin() + static_cast<std::ptrdiff_t>(i) + 1, all->seq.end()), all->origin), in_loop);
      if (!rest) { return std::nullopt; }
      kept.push_back(make<IfThenElse>(logical_not(is_done()), std::move(*rest), Stmt(), all->origin));
      break;
    }
    return seq(std::move(kept), s.origin());
  }
  if (const auto* n = s.as<IfThenElse>()) {
    auto then_case = leave(n->then_case, in_loop);
    auto else_case = n->else_case ? leave(n->else_case, in_loop) : std::optional<Stmt>(Stmt());
    if (!then_case || !else_case) { return std::nullopt; }
    return Stmt(make<IfThenElse>(n->condition, std::move(*then_case), std::move(*else_case), n->origin));
  }
  auto inner = [&](const Stmt& body) -> std::optional<Stmt> { return leave(body, in_loop); };
  // Behind a loop that `return` may have left: breaks out of the loop around it, too.
  auto left = [&](Stmt loop) -> Stmt {
    return in_loop ? seq({std::move(loop), Stmt(make<IfThenElse>(is_done(), Stmt(make<Break>(s.origin())), Stmt(), s.origin()))}, s.origin()) : loop;
  };
  if (const auto* n = s.as<For>(); n && n->for_kind == ForKind::Serial) {
    auto body = leave(n->body, true);
    return body ? std::optional<Stmt>(left(make<For>(n->var, n->min, n->extent, n->for_kind, std::move(*body), n->thread, n->annotations, n->origin))) : std::nullopt;
  }
  if (const auto* n = s.as<While>()) {
    auto body = leave(n->body, true);
    return body ? std::optional<Stmt>(left(make<While>(n->condition, std::move(*body), n->origin))) : std::nullopt;
  }
  if (const auto* n = s.as<LetStmt>()) {
    auto body = inner(n->body);
    return body ? std::optional<Stmt>(make<LetStmt>(n->var, n->value, std::move(*body), n->origin)) : std::nullopt;
  }
  if (const auto* n = s.as<DeclBuffer>()) {
    auto body = inner(n->body);
    return body ? std::optional<Stmt>(make<DeclBuffer>(n->buffer, std::move(*body), n->origin)) : std::nullopt;
  }
  if (const auto* n = s.as<Allocate>()) {
    auto body = inner(n->body);
    return body ? std::optional<Stmt>(make<Allocate>(n->data, n->dtype, n->extents, n->condition, std::move(*body), n->annotations, n->origin)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace loopsmith::transform
