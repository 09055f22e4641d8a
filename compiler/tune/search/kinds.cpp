// The list of searches: see search.h.
#include "tune/search/search.h"

namespace loopsmith::tune {

auto search_kinds() -> const std::vector<SearchKind>& {
  static const std::vector<SearchKind> kinds = {
      {"guided", "ranks by draft and measurements, breeds in each sketch, measures neighbours of the best; the default", make_guided},
      {"random", "draws points that the draft accepts; larger sketches more often", make_random},
      {"grid", "takes the points of all sketches in order", make_grid},
      {"greedy", "moves to a faster neighbour as soon as one is measured; begins anew where none is", make_greedy},
      {"coordinate", "measures the choices of one knob after the other and keeps the best", make_coordinate},
      {"annealing", "walks from point to point, and accepts slower points less and less", make_annealing},
      {"genetic", "crosses and mutates the fastest measured points", make_genetic},
      {"evolutionary", "MetaSchedule's: breeds a population on the model's scores, with a share of random points", make_evolutionary},
      {"replay-trace", "MetaSchedule's: draws every decision anew, without a model", make_replay_trace},
      {"bandit", "divides the trials among the sketches by upper confidence bounds", make_bandit},
      {"mcts", "searches the tree of knobs by playouts that the draft completes", make_mcts},
  };
  return kinds;
}

auto find_search(std::string_view name) -> const SearchKind* {
  for (const SearchKind& kind : search_kinds()) {
    if (kind.name == name) { return &kind; }
  }
  return nullptr;
}

auto search_names() -> std::string {
  std::string out;
  const auto& kinds = search_kinds();
  for (size_t i = 0; i < kinds.size(); ++i) {
    out += i == 0 ? "" : i + 1 == kinds.size() ? " or " : ", ";
    out += kinds[i].name;
  }
  return out;
}

}  // namespace loopsmith::tune
