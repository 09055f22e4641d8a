// The list of searches, and their parameters: see search.h.
#include "tune/search/search.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace loopsmith::tune {

auto search_kinds() -> const std::vector<SearchKind>& {
  static const std::vector<SearchKind> kinds = {
      {"guided", "ranks by draft and measurements, breeds in each sketch, measures neighbours of the best; the default", make_guided},
      {"random", "draws points that the draft accepts; larger sketches more often", make_random},
      {"grid", "takes the points of all sketches in order", make_grid},
      {"greedy", "moves to a faster neighbour as soon as one is measured; restarts if there is none", make_greedy},
      {"coordinate", "measures the choices of one knob after the other and keeps the best", make_coordinate},
      {"annealing", "walks from point to point, and accepts slower points less and less", make_annealing},
      {"genetic", "crosses and mutates the fastest measured points", make_genetic},
      {"evolutionary", "MetaSchedule's: breeds a population on the model's scores, with a share of random points", make_evolutionary,
       {{"population_size", 512, 1, 65536, true}, {"init_measured_ratio", 0.2, 0, 1}, {"init_min_unmeasured", 50, 0, 65536, true}, {"max_fail_count", 5, 1, 1000, true},
        {"genetic_num_iters", 4, 0, 1000, true}, {"genetic_mutate_prob", 0.85, 0, 1}, {"genetic_max_fail_count", 10, 1, 1000, true}, {"eps_greedy", 0.05, 0, 1}}},
      {"replay-trace", "MetaSchedule's: draws every decision anew, without a model", make_replay_trace},
      {"bandit", "divides the trials among the sketches by upper confidence bounds", make_bandit},
      {"mcts", "searches the tree of knobs by playouts that the draft completes", make_mcts},
      {"bayesian", "measures points with the largest expected improvement, by a Gaussian process over their features", make_bayesian},
      {"q-learning", "learns which changes of knobs bring a gain, and makes them from the fastest points", make_q_learning},
      {"gradient", "descends on draft and model by the steepest change of one knob, and measures where that ends", make_gradient},
  };
  return kinds;
}

auto find_search(std::string_view name) -> const SearchKind* {
  for (const SearchKind& kind : search_kinds()) {
    if (kind.name == name) { return &kind; }
  }
  return nullptr;
}

auto ChosenSearch::make(const Sketches& sketches, uint64_t seed) const -> std::unique_ptr<Search> {
  auto out = kind->make(sketches, seed);
  for (const auto& [name, value] : numbers) { out->set_number(name, value); }
  return out;
}

namespace {

auto stripped(std::string_view part) -> std::string_view {
  while (!part.empty() && part.front() == ' ') { part.remove_prefix(1); }
  while (!part.empty() && part.back() == ' ') { part.remove_suffix(1); }
  return part;
}

}  // namespace

auto read_numbers(std::string_view text, std::string_view what, const std::vector<SearchNumber>& known, std::string& problem) -> Numbers {
  Numbers out;
  text = stripped(text);
  if (text.empty()) { return out; }
  if (text.front() != '(' || text.back() != ')' || text.size() < 2) {
    problem = fmt::format("the parameters of `{}` stand between `(` and `)`, not as `{}`", what, text);
    return out;
  }
  std::string_view inside = stripped(text.substr(1, text.size() - 2));
  while (!inside.empty()) {
    const size_t comma = inside.find(',');
    const std::string_view item = stripped(inside.substr(0, comma));
    inside = comma == std::string_view::npos ? std::string_view() : inside.substr(comma + 1);
    const size_t equals = item.find('=');
    const std::string_view name = stripped(item.substr(0, equals));
    const auto number = std::find_if(known.begin(), known.end(), [&](const SearchNumber& one) { return one.name == name; });
    if (number == known.end()) {
      problem = fmt::format("`{}` has no parameter `{}`", what, name);
      return out;
    }
    const std::string value_text(equals == std::string_view::npos ? std::string_view() : stripped(item.substr(equals + 1)));
    char* end = nullptr;
    const double value = std::strtod(value_text.c_str(), &end);
    const bool is_number = !value_text.empty() && *end == '\0';
    if (!is_number || !(value >= number->least && value <= number->most) || (number->is_whole && value != std::floor(value))) {
      problem = fmt::format("`{}` is a {} from {:g} to {:g}, not `{}`", number->name, number->is_whole ? "whole number" : "number", number->least, number->most, value_text);
      return out;
    }
    out.emplace_back(name, value);
  }
  return out;
}

auto read_search(std::string_view text) -> ChosenSearch {
  ChosenSearch out;
  const size_t open = std::min(text.find('('), text.size());
  const std::string_view name = stripped(text.substr(0, open));
  const SearchKind* kind = find_search(name);
  if (kind == nullptr) {
    out.problem = fmt::format("no search is named `{}`; the searches are {}", name, search_names());
    return out;
  }
  out.numbers = read_numbers(text.substr(open), name, kind->numbers, out.problem);
  if (out.problem.empty()) { out.kind = kind; }
  return out;
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
