// Texts of the catalogues, with their arguments filled in: see message_text.h.
#include "support/message_text.h"

#include "support/text.h"

namespace loopsmith {
namespace {

// Nouns that follow a count in the catalogues' texts, with their plural if it does not end in "s" alone.
struct Noun { std::string_view one, many = {}; };
constexpr Noun counted[] = {
    {"argument"}, {"positional argument"}, {"dimension"}, {"index", "indices"}, {"item"}, {"name"}, {"value"}, {"result"}, {"buffer"}, {"axis kind"},
    {"loop variable"}, {"candidate"}, {"probability", "probabilities"}, {"error"}, {"time"}, {"level"}, {"operator"}, {"byte"}, {"step"}, {"sector"},
    {"block"}, {"iter var"}, {"positive number"}, {"variable"}, {"loop"}, {"parameter"}, {"statement"}, {"region"}, {"factor"}, {"tile"}, {"element"},
    {"lane"}, {"number"}, {"stage"}, {"axis", "axes"}, {"schedule"}, {"thread"}, {"sample"}, {"program"}, {"row"}, {"tree"}, {"node"}, {"feature"},
    {"trial"},
};

}  // namespace

auto fill_message(std::string_view text, const std::vector<std::pair<std::string, std::string>>& args) -> std::string {
  std::string out;
  while (!text.empty()) {
    size_t open = text.find('{');
    size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) { break; }
    out += text.substr(0, open);
    std::string_view name = text.substr(open + 1, close - open - 1);
    for (const auto& [key, value] : args) {
      // A block without a name is shown as the text of its statement.
      if (key == name) { out += value.empty() && name == "block" ? "T.block()" : value; }
    }
    text.remove_prefix(close + 1);
    bool is_one = out.ends_with("1") && (out.size() == 1 || out[out.size() - 2] == ' ');
    for (const Noun& noun : counted) {
      const std::string many = " " + plural(2, noun.one, noun.many);
      const bool is_followed = is_one && text.starts_with(many) && (text.size() == many.size() || !is_name_part(text[many.size()]));
      if (!is_followed) { continue; }
      out.append(" ").append(noun.one);
      text.remove_prefix(many.size());
      break;
    }
  }
  out += text;
  return out;
}

}  // namespace loopsmith
