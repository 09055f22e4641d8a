// `T.target`: a target from its name or from a dictionary, with its host.
#include "frontend/functions/arguments.h"
#include "frontend/functions/functions.h"
#include "frontend/words.h"
#include "ir/printer.h"
#include "support/codes.h"

namespace loopsmith::frontend {

namespace {

// Checks the kind of a target: its first word, or its entry "kind". A name with a slash is a tag.
void check_target(Evaluator& e, const Attr& target, Origin where) {
  static const Name kind_name("kind");
  if (const auto* map = std::get_if<AttrMap>(&target.value)) {
    if (const Attr* kind = find_attr(*map, kind_name)) { check_target(e, *kind, where); }
    return;
  }
  const std::string* text = target.string();
  if (!text || text->find('/') != std::string::npos) { return; }
  if (std::string kind = text->substr(0, text->find(' ')); !kind.empty()) { check_word(e, Vocabulary::TargetKind, kind, where); }
}

}  // namespace

auto target(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"target_config"}, {"host", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.target", a, parameters, b)) { return not_bound(b); }
  auto value = to_attr(e, b.values[0]);
  if (!value) { return Value::error(); }
  check_target(e, *value, b.values[0].where);
  static const Name host_name("host");
  auto plain = [](const Attr& a) {
    const Attr* inner = target_attr(a);
    return inner ? *inner : a;
  };
  // A host may be given without `T.target` around it: in the dictionary, or behind the name of a target.
  if (auto* map = std::get_if<AttrMap>(&value->value)) {
    if (const Attr* host = find_attr(*map, host_name)) { value = Attr(with_attr(*map, host_name, plain(*host))); }
  }
  if (is_given(b, 1)) {
    auto host = to_attr(e, b.values[1]);
    if (!host) { return Value::error(); }
    check_target(e, *host, b.values[1].where);
    const auto* map = std::get_if<AttrMap>(&value->value);
    value = map ? Attr(with_attr(*map, host_name, plain(*host))) : Attr(Array<Attr>{*value, plain(*host)});
  }
  return make_object<AttrObject>(Attr(AttrMap{{target_key(), std::move(*value)}}));
}

auto target_functions() -> FunctionRows {
  static constexpr FunctionRow rows[] = {
      {"target", target},
  };
  return rows;
}

}  // namespace loopsmith::frontend
