// XGBoost's C functions, and its trees as trees of our own: see xgboost.h.
//
// The library fits; predictions are made here. A prediction of the library builds a matrix for each point, which takes longer than the draft of a point.
#include "tune/cost/xgboost.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "tune/cost/trees.h"

namespace loopsmith::tune {
namespace {

using Handle = void*;

// TVM's parameters; the number of rounds is fixed, since a sketch has few rows.
constexpr std::pair<const char*, const char*> parameters[] = {{"max_depth", "10"}, {"gamma", "0.001"}, {"min_child_weight", "0"}, {"eta", "0.2"},
                                                              {"seed", "43"}, {"nthread", "1"}, {"verbosity", "0"}, {"base_score", "0"}};
constexpr int rounds = 50;

struct Library {
  int (*matrix_create)(const float*, uint64_t, uint64_t, float, Handle*) = nullptr;
  int (*matrix_free)(Handle) = nullptr;
  int (*booster_create)(const Handle*, uint64_t, Handle*) = nullptr;
  int (*booster_free)(Handle) = nullptr;
  int (*set_parameter)(Handle, const char*, const char*) = nullptr;
  int (*boost)(Handle, Handle, float*, float*, uint64_t) = nullptr;
  int (*dump)(Handle, const char*, int, const char*, uint64_t*, const char***) = nullptr;
  std::string why_not;

  Library() {
    void* handle = nullptr;
    // Tests name a file that does not exist.
    const char* named = std::getenv("LOOPSMITH_TEST_XGBOOST");
    for (const char* path : {named, "libxgboost.so", "libxgboost.so.0", "libxgboost.so.1"}) {
      if (!handle && path && (!named || path == named)) { handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL); }
    }
    if (!handle) {
      why_not = "the library libxgboost.so is not installed; Debian has it as `apt install libxgboost0`, conda as `libxgboost`";
      return;
    }
    auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
      if (!function && why_not.empty()) { why_not = std::string("libxgboost.so has no function `") + name + "`; versions 1 and 2 have it"; }
    };
    find("XGDMatrixCreateFromMat", matrix_create);
    find("XGDMatrixFree", matrix_free);
    find("XGBoosterCreate", booster_create);
    find("XGBoosterFree", booster_free);
    find("XGBoosterSetParam", set_parameter);
    find("XGBoosterBoostOneIter", boost);
    find("XGBoosterDumpModelEx", dump);
  }
};

auto library() -> const Library& {
  static const Library the_library;
  return the_library;
}

/// A tree of XGBoost's text: a line `3:[f2<0.5] yes=4,no=5,missing=4` or `3:leaf=0.25` for each node. Empty: the text has another form.
auto parse_tree(const char* text) -> Tree {
  std::map<int, Tree::Node> nodes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) { continue; }
    int number = 0, feature = 0, yes = 0, no = 0;
    double value = 0;
    if (std::sscanf(line.c_str() + begin, "%d:[f%d<%lf] yes=%d,no=%d", &number, &feature, &value, &yes, &no) == 5 && feature >= 0 && yes >= 0 && no >= 0) {
      nodes[number] = {.feature = feature, .threshold = value, .left = static_cast<uint32_t>(yes), .right = static_cast<uint32_t>(no)};
    } else if (std::sscanf(line.c_str() + begin, "%d:leaf=%lf", &number, &value) == 2) {
      nodes[number] = {.value = value};
    } else {
      return {};
    }
  }
  // Numbers of pruned nodes are missing.
  std::map<int, uint32_t> place;
  for (const auto& [number, node] : nodes) { place.emplace(number, static_cast<uint32_t>(place.size())); }
  Tree out;
  for (auto& [number, node] : nodes) {
    if (node.feature >= 0) {
      auto left = place.find(static_cast<int>(node.left)), right = place.find(static_cast<int>(node.right));
      // A child comes behind its parent, so each walk ends.
      if (left == place.end() || right == place.end() || left->first <= number || right->first <= number) { return {}; }
      node.left = left->second;
      node.right = right->second;
    }
    out.nodes.push_back(node);
  }
  return out;
}

class XGBoost final : public TreeModel {
 protected:
  [[nodiscard]] auto grow(const std::vector<Row>& rows) const -> std::vector<Tree> override {
    const Library& xgb = library();
    if (!xgb.why_not.empty()) { return {}; }
    const size_t features = rows.front().features.size();
    std::vector<float> values;
    for (const Row& row : rows) { values.insert(values.end(), row.features.begin(), row.features.end()); }
    Handle matrix = nullptr, booster = nullptr;
    std::vector<Tree> out;
    if (xgb.matrix_create(values.data(), rows.size(), features, __builtin_nanf(""), &matrix) != 0) { return out; }
    if (xgb.booster_create(&matrix, 1, &booster) == 0) {
      out = boosted(xgb, rows, matrix, booster, features);
      (void)xgb.booster_free(booster);
    }
    (void)xgb.matrix_free(matrix);
    return out;
  }

 private:
  static auto boosted(const Library& xgb, const std::vector<Row>& rows, Handle matrix, Handle booster, size_t features) -> std::vector<Tree> {
    for (auto [name, value] : parameters) { (void)xgb.set_parameter(booster, name, value); }
    std::vector<float> gradient(rows.size()), hessian(rows.size());
    std::vector<double> predicted(rows.size(), 0);
    std::vector<Tree> out;
    for (int round = 0; round < rounds; ++round) {
      for (size_t r = 0; r < rows.size(); ++r) {
        // A bound that holds has no gradient.
        const bool holds = rows[r].weight < 1 && predicted[r] >= rows[r].target;
        gradient[r] = holds ? 0 : static_cast<float>(rows[r].weight * (predicted[r] - rows[r].target));
        hessian[r] = static_cast<float>(rows[r].weight);
      }
      if (xgb.boost(booster, matrix, gradient.data(), hessian.data(), rows.size()) != 0) { break; }
      uint64_t length = 0;
      const char** texts = nullptr;
      if (xgb.dump(booster, "", 0, "text", &length, &texts) != 0 || length != out.size() + 1) { break; }
      Tree tree = parse_tree(texts[length - 1]);
      const bool fits = std::all_of(tree.nodes.begin(), tree.nodes.end(), [&](const Tree::Node& node) { return node.feature < static_cast<int>(features); });
      if (tree.nodes.empty() || !fits) { break; }
      for (size_t r = 0; r < rows.size(); ++r) { predicted[r] += tree.predict(rows[r].features); }
      out.push_back(std::move(tree));
    }
    return out;
  }
};

}  // namespace

auto why_no_xgboost() -> std::string { return library().why_not; }
auto make_xgboost() -> std::unique_ptr<CostModel> { return std::make_unique<XGBoost>(); }

}  // namespace loopsmith::tune
