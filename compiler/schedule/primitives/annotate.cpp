// Primitives that leave notes: annotate, unannotate, enter_postproc. Notes change no results; later passes and the
// tuner read them.
#include <fmt/format.h>

#include "ir/ops.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/primitives.h"
#include "support/codes.h"

namespace loopsmith::schedule::primitives {
namespace {

// Converts numbers to immediates, as TVM's conversion from Python does.
auto attr_of(const Value& value) -> Attr {
  if (const bool* b = value.as<bool>()) { return Attr(bool_imm(*b)); }
  if (const int64_t* i = value.integer()) { return Attr(int_imm(*i)); }
  if (const double* d = value.as<double>()) { return Attr(float_imm(*d)); }
  if (const auto* s = value.as<std::string>()) { return Attr(*s); }
  if (const auto* e = value.as<Expr>()) { return Attr(*e); }
  if (const auto* m = value.as<IndexMap>()) { return Attr(*m); }
  if (const auto* list = value.as<Value::List>()) {
    std::vector<Attr> items;
    for (const Value& item : *list) { items.push_back(attr_of(item)); }
    return Attr(Array<Attr>(std::move(items)));
  }
  if (const auto* dict = value.as<Value::Dict>()) {
    AttrMap out;
    for (const auto& [key, item] : *dict) { out = with_attr(out, Name(key), attr_of(item)); }
    return Attr(out);
  }
  return Attr();
}

auto with_annotations(const Context& cx, const PlaceArg& at, AttrMap annotations) -> Outcome {
  Outcome out;
  out.func = at.func->name();
  if (at->is_loop()) {
    const For& n = *at->loop;
    out.rewrite.changes.push_back({at->id, make<For>(n.var, n.min, n.extent, n.for_kind, n.body, n.thread, std::move(annotations), cx.made_from(n.origin), n.id)});
  } else {
    auto fields = at->block()->fields();
    fields.annotations = std::move(annotations);
    out.rewrite.changes.push_back({at->id, make<Block>(std::move(fields), cx.made_from(at->block()->origin), at->id)});
  }
  return out;
}

auto annotations_of(const PlaceArg& at) -> const AttrMap& { return at->is_loop() ? at->loop->annotations : at->block()->annotations; }

/// Attaches a value to a block or loop. An existing annotation with the same key stays unchanged.
///
///     for i in range(8):         ==>         for i in T.serial(8, annotations={"pragma_x": 1}):
///
/// Keeps  everything else.
struct Annotate {
  static constexpr size_t most_annotations = 256;
  struct Args { PlaceArg block_or_loop; std::string ann_key; Value ann_val; };
  struct Plan {};
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    if (args.ann_key.empty()) { return cx.error(Code::ParameterKind).arg("parameter", "ann_key").arg("expected", "a key").arg("found", "an empty string"); }
    // Copies the list, since each state of a schedule has its own.
    const AttrMap& old = annotations_of(args.block_or_loop);
    if (old.size() >= most_annotations && !find_attr(old, Name(args.ann_key))) {
      return cx.error(Code::TooMuchWork).arg("what", fmt::format("more than {} annotations of `{}`", most_annotations, args.block_or_loop->name().view()));
    }
    return Plan{};
  }
  static auto apply(const Context& cx, const Args& args, const Plan&) -> Outcome {
    const AttrMap& old = annotations_of(args.block_or_loop);
    if (find_attr(old, Name(args.ann_key))) { return {}; }
    return with_annotations(cx, args.block_or_loop, with_attr(old, Name(args.ann_key), attr_of(args.ann_val)));
  }
};

/// Removes an annotation from a block or loop.
///
/// Needs  an existing annotation.
struct Unannotate {
  struct Args { PlaceArg block_or_loop; std::string ann_key; };
  struct Plan {};
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    if (!find_attr(annotations_of(args.block_or_loop), Name(args.ann_key))) {
      Diagnostic out = cx.error(Code::NoSuchAnnotation).arg("key", args.ann_key).arg("where", args.block_or_loop->name().view())
                           .at_node(args.block_or_loop->id);
      for (const auto& [key, value] : annotations_of(args.block_or_loop)) { out.remedies.push_back("there is `" + key.str() + "`"); }
      return out;
    }
    return Plan{};
  }
  static auto apply(const Context& cx, const Args& args, const Plan&) -> Outcome {
    return with_annotations(cx, args.block_or_loop, without_attr(annotations_of(args.block_or_loop), Name(args.ann_key)));
  }
};

/// Marks where a tuner's postprocessors begin. Changes nothing.
struct EnterPostproc {
  struct Args {};
  struct Plan {};
  static auto check(const Context&, const Args&) -> Result<Plan> { return Plan{}; }
  static auto apply(const Context&, const Args&, const Plan&) -> Outcome { return {}; }
};

}  // namespace

const Primitive annotate = primitive<Annotate>("annotate", "Annotate", "attaches a value to a block or loop", {Order::Untouched, Hidden::Harmless})
    .input("block_or_loop", &Annotate::Args::block_or_loop)
    .attr("ann_key", &Annotate::Args::ann_key).from([](const Choice&) { return std::vector<Value>{"pragma_auto_unroll_max_step"}; })
    .input("ann_val", &Annotate::Args::ann_val).from([](const Choice&) { return std::vector<Value>{16}; })
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")\nsch.annotate(k, \"pragma_auto_unroll_max_step\", 16)");
const Primitive unannotate = primitive<Unannotate>("unannotate", "Unannotate", "takes an annotation off a block or loop", {Order::Untouched, Hidden::Harmless})
    .input("block_or_loop", &Unannotate::Args::block_or_loop)
    .attr("ann_key", &Unannotate::Args::ann_key).from(candidates::annotation_keys)
    .example(examples::annotated, "i, = sch.get_loops(\"B\")\nsch.unannotate(i, \"pragma_auto_unroll_max_step\")");
const Primitive enter_postproc = primitive<EnterPostproc>("enter_postproc", "EnterPostproc", "marks where postprocessing begins", no_effects).pure()
    .example(examples::matmul, "sch.enter_postproc()");

}  // namespace loopsmith::schedule::primitives
