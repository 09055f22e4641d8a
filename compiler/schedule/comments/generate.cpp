// primitive-comments OUT FILE...: collects the comments over primitives (summary, Needs, Keeps) and the diagnostics that each
// may report, for the reference page and for help, so that neither text is written twice.
//
// The diagnostics are those named in the struct of a primitive, in the functions that it calls, and in their callees; functions
// are distinguished by name and file. Fails where a primitive has no comment.
#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Source {
  std::map<std::string, std::string> functions;   // bodies by name
  std::map<std::string, std::string> structs;
  std::map<std::string, std::vector<std::string>> comments;   // lines, by the struct below
};

auto without_comments(const std::string& text) -> std::string {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "//") == 0) {
      while (i < text.size() && text[i] != '\n') { ++i; }
      out += '\n';
    } else if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) { i += text[i] == '\\'; }
      out += "\"\"";
    } else {
      out += text[i];
    }
  }
  return out;
}

// The text from an opening bracket to just after the closing one.
auto bracketed(const std::string& text, size_t open) -> size_t {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '{') { ++depth; }
    if ((text[i] == ')' || text[i] == '}') && --depth == 0) { return i + 1; }
  }
  return text.size();
}

auto read_source(const std::string& path) -> Source {
  std::ifstream in(path);
  std::stringstream stream;
  stream << in.rdbuf();
  std::string text = stream.str();
  Source out;
  std::vector<std::string> comment;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("///")) {
      comment.push_back(line.size() > 4 ? line.substr(4) : "");
      continue;
    }
    if (line.starts_with("struct ")) {
      std::string name = line.substr(7, line.find_first_of(" {", 7) - 7);
      if (!comment.empty()) { out.comments[name] = comment; }
    }
    comment.clear();
  }
  std::string code = without_comments(text);
  static const std::regex head(R"((?:auto|void)\s+(?:\w+::)?(\w+)\(|\nstruct\s+(\w+)\s*\{)");
  size_t struct_end = 0;   // functions of structs belong to them
  for (auto at = std::sregex_iterator(code.begin(), code.end(), head); at != std::sregex_iterator(); ++at) {
    if (static_cast<size_t>(at->position()) < struct_end) { continue; }
    size_t open = static_cast<size_t>(at->position()) + static_cast<size_t>(at->length()) - 1;
    if ((*at)[2].matched) {
      struct_end = bracketed(code, open);
      out.structs[(*at)[2]] += code.substr(open, struct_end - open);
      continue;
    }
    size_t after = bracketed(code, open);
    size_t body = code.find_first_of("{;", after);
    if (body == std::string::npos || code[body] == ';') { continue; }
    out.functions[(*at)[1]] += code.substr(body, bracketed(code, body) - body);
  }
  return out;
}

auto literal(const std::string& text) -> std::string {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') { out += '\\'; }
    out += c;
  }
  return out + "\"";
}

// The sentences of a comment: the summary, "Needs" and "Keeps".
struct Sentences { std::string summary, needs, keeps; };
auto sentences_of(const std::vector<std::string>& lines) -> Sentences {
  Sentences out;
  std::string* into = &out.summary;
  for (const std::string& line : lines) {
    if (line.empty()) { into = into == &out.summary ? nullptr : into; continue; }
    std::string text = line;
    if (line.starts_with("Needs ")) { into = &out.needs; text = line.substr(6); }
    else if (line.starts_with("Keeps ")) { into = &out.keeps; text = line.substr(6); }
    else if (line.starts_with("    ") && into != &out.needs && into != &out.keeps) { continue; }
    if (!into) { continue; }
    size_t first = text.find_first_not_of(' ');
    if (first == std::string::npos) { continue; }
    *into += (into->empty() ? "" : " ") + text.substr(first);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) { return 2; }
  std::map<std::string, Source> sources;
  for (int i = 2; i < argc; ++i) { sources[argv[i]] = read_source(argv[i]); }
  static const std::regex row(R"re(primitive<(\w+)>\("(\w+)")re");
  static const std::regex word(R"(\b(?:Code::(\w+)|(\w+)\s*\())");
  std::ofstream out(argv[1]);
  out << "// Made by primitive-comments from the sources of the primitives.\n";
  int status = 0;
  for (auto& [path, source] : sources) {
    std::ifstream in(path);
    std::stringstream stream;
    stream << in.rdbuf();
    std::string text = stream.str();
    for (auto at = std::sregex_iterator(text.begin(), text.end(), row); at != std::sregex_iterator(); ++at) {
      std::string name = (*at)[1], script = (*at)[2];
      if (path.find("/primitives/") == std::string::npos) { continue; }
      auto comment = source.comments.find(name);
      if (comment == source.comments.end()) {
        std::fprintf(stderr, "%s: `%s` has no comment\n", path.c_str(), name.c_str());
        status = 1;
        continue;
      }
      std::set<std::string> codes;
      std::set<const std::string*> seen;
      std::vector<std::pair<const Source*, const std::string*>> todo{{&source, &source.structs[name]}};
      while (!todo.empty()) {
        auto [file, body] = todo.back();
        todo.pop_back();
        if (!seen.insert(body).second) { continue; }
        for (auto w = std::sregex_iterator(body->begin(), body->end(), word); w != std::sregex_iterator(); ++w) {
          if ((*w)[1].matched) {
            codes.insert((*w)[1]);
            continue;
          }
          std::string called = (*w)[2];
          auto here = file->functions.find(called);
          if (here != file->functions.end()) {
            todo.emplace_back(file, &here->second);
            continue;
          }
          // A function of another file: only a name with an underscore is unambiguous enough.
          if (called.find('_') == std::string::npos) { continue; }
          for (const auto& [other, s] : sources) {
            auto there = s.functions.find(called);
            if (there != s.functions.end()) { todo.emplace_back(&s, &there->second); }
          }
        }
      }
      for (const char* general : {"Internal", "ParameterKind", "VariableGone"}) { codes.erase(general); }
      Sentences s = sentences_of(comment->second);
      out << "{" << literal(script) << ", " << literal(s.summary) << ", " << literal(s.needs) << ", " << literal(s.keeps) << ", {";
      bool first = true;
      for (const std::string& code : codes) {
        out << (first ? "" : ", ") << "Code::" << code;
        first = false;
      }
      out << "}},\n";
    }
  }
  return status;
}
