// Files that move: all imports of them, and all imports in them, still find their files; and the edits are those that a person would write.
#include "lsp/features/moved_files.h"

#include <algorithm>
#include <random>

#include "support/text.h"
#include "tests/support/effort.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/texts.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

/// The workspace after the move: texts by their paths below `/w`.
auto after(Texts& files, const std::vector<MovedFile>& moved) -> std::map<std::string, std::string> {
  std::map<std::string, std::string> texts = files.all();
  for (const EditedFile& one : imports_after_moves(files, moved, {})) { texts[files.path_of(*one.file).substr(3)] = with_edits(one.file->text(), one.edits); }
  std::map<std::string, std::string> out;
  for (auto& [name, text] : texts) {
    std::string path = "/w/" + name;
    for (const MovedFile& one : moved) {
      if (path == one.from) { path = one.to; break; }
      if (path.starts_with(one.from + "/")) { path = one.to + path.substr(one.from.size()); break; }
    }
    out[path.substr(3)] = text;
  }
  return out;
}

}  // namespace

TEST_CASE("renaming a file changes the imports of it and their uses") {
  Texts files({
      {"kernels.py", "def tiled(sch):\n    pass\n\nN = 4\n"},
      {"lib/__init__.py", ""},
      {"lib/tiles.tir", "from ..kernels import N\n\ndef tile(sch):\n    pass\n"},
      {"lib/use.py", "from .tiles import tile\nfrom . import tiles\nfrom . import tiles as t\nimport kernels\n\ntiles.tile(t.tile)\n"},
      {"plain.py", "from kernels import tiled, N\n"},
      {"star.py", "from kernels import *\n"},
      {"whole.py", "import kernels\nimport kernels as k\nimport lib.tiles\n\ndef f(sch):\n    kernels.tiled(sch)\n    k.tiled(sch)\n    lib.tiles.tile(sch)\n\ndef g(kernels):\n    return kernels.tiled\n"},
      {"local.py", "def f():\n    from kernels import N  # of the machine\n    return N\n"},
      {"other.py", "from elsewhere.kernels import tiled\nimport kernels_of_others\n"},
  });
  auto renamed = after(files, {{"/w/kernels.py", "/w/fast.py"}});
  CHECK(renamed["plain.py"] == "from fast import tiled, N\n");
  CHECK(renamed["star.py"] == "from fast import *\n");
  CHECK(renamed["local.py"] == "def f():\n    from fast import N  # of the machine\n    return N\n");
  CHECK(renamed["lib/tiles.tir"] == "from ..fast import N\n\ndef tile(sch):\n    pass\n");
  CHECK(renamed["whole.py"] == "import fast\nimport fast as k\nimport lib.tiles\n\ndef f(sch):\n    fast.tiled(sch)\n    k.tiled(sch)\n    lib.tiles.tile(sch)\n\ndef g(kernels):\n    return kernels.tiled\n");
  CHECK(renamed["other.py"] == files.all()["other.py"]);
  CHECK(renamed["lib/use.py"].find("import fast\n") != std::string::npos);

  auto moved = after(files, {{"/w/lib/tiles.tir", "/w/deep/more/shapes.tir"}});
  CHECK(moved["deep/more/shapes.tir"] == "from ...kernels import N\n\ndef tile(sch):\n    pass\n");
  CHECK(moved["whole.py"].find("import deep.more.shapes\n") != std::string::npos);
  CHECK(moved["whole.py"].find("    deep.more.shapes.tile(sch)\n") != std::string::npos);
  CHECK(moved["lib/use.py"] == "from ..deep.more.shapes import tile\nfrom ..deep.more import shapes\nfrom ..deep.more import shapes as t\nimport kernels\n\nshapes.tile(t.tile)\n");

  auto folder = after(files, {{"/w/lib", "/w/library"}});
  CHECK(folder["library/use.py"] == files.all()["lib/use.py"]);
  CHECK(folder["library/tiles.tir"] == files.all()["lib/tiles.tir"]);
  CHECK(folder["whole.py"].find("import library.tiles\n") != std::string::npos);

  SECTION("what no import can say stays as it is") {
    for (const char* to : {"/w/my-kernels.py", "/w/kernels.txt", "/elsewhere/kernels.py"}) { CHECK(after(files, {{"/w/kernels.py", to}})["plain.py"] == files.all()["plain.py"]); }
    CHECK(imports_after_moves(files, {}, {}).empty());
    CHECK(imports_after_moves(files, {{"/w/plain.py", "/w/simple.py"}}, {}).empty());
  }
}

TEST_CASE("whatever moves, names that came from another file still do") {
  std::mt19937 random(7);
  auto any = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
  size_t followed = 0;
  for (size_t round = 0; round < 400 / tests::stride(4); ++round) {
    const std::vector<std::string> folders = {"", "a/", "a/b/", "c/"};
    std::map<std::string, std::string> texts;
    std::vector<std::string> modules;   // "a/b/m3"
    for (size_t i = 0; i < 5; ++i) { modules.push_back(folders[any(folders.size())] + "m" + std::to_string(i)); }
    for (size_t i = 0; i < modules.size(); ++i) {
      std::string text;
      std::string uses;
      std::string folder = modules[i].substr(0, modules[i].rfind('/') + 1);
      for (size_t k = 0; k < modules.size(); ++k) {
        if (k == i || any(3) == 0) { continue; }
        std::string dotted = modules[k];
        std::replace(dotted.begin(), dotted.end(), '/', '.');
        std::string last = modules[k].substr(modules[k].rfind('/') + 1);
        std::string parent = dotted.substr(0, dotted.size() - std::min(dotted.size(), last.size() + 1));
        std::string dots(static_cast<size_t>(std::count(folder.begin(), folder.end(), '/')) + 1, '.');
        std::string given = "f" + std::to_string(k);
        switch (any(6)) {
          case 0: text += "from " + dotted + " import " + given + "\n"; uses += given + "()\n"; break;
          case 1: text += "import " + dotted + "\n"; uses += dotted + "." + given + "()\n"; break;
          case 2: text += "import " + dotted + " as as_" + last + "\n"; uses += "as_" + last + "." + given + "()\n"; break;
          case 3: text += "from " + dots + dotted + " import " + given + "\n"; uses += given + "()\n"; break;
          case 4: text += "from " + dots + parent + " import " + last + "\n"; uses += last + "." + given + "()\n"; break;
          default: text += "from " + dots + parent + " import " + last + " as as_" + last + "\n"; uses += "as_" + last + "." + given + "()\n"; break;
        }
      }
      texts[modules[i] + (any(2) == 0 ? ".py" : ".tir")] = text + "\ndef f" + std::to_string(i) + "():\n    pass\n\n" + uses;
    }
    Texts before(texts);
    MovedFile move;
    if (any(4) == 0) {
      move = {"/w/a", any(2) == 0 ? "/w/moved" : "/w/c/moved"};
    } else {
      auto it = texts.begin();
      std::advance(it, any(texts.size()));
      std::string extension = it->first.substr(it->first.rfind('.'));
      move = {"/w/" + it->first, "/w/" + folders[any(folders.size())] + "fresh" + extension};
    }
    auto edited = imports_after_moves(before, {move}, {});
    auto moved_to = [&](const std::string& path) { return path == move.from ? move.to : path.starts_with(move.from + "/") ? move.to + path.substr(move.from.size()) : path; };
    Texts now(after(before, {move}));
    for (const auto& [name, text] : texts) {
      INFO("move " << move.from << " to " << move.to << "\nfile " << name << "\n" << text);
      const workspace::Snapshot* old_file = before.read("/w/" + name);
      const workspace::Snapshot* new_file = now.read(moved_to("/w/" + name));
      REQUIRE(new_file != nullptr);
      INFO(new_file->text());
      auto of_file = std::find_if(edited.begin(), edited.end(), [&](const EditedFile& one) { return one.file == old_file; });
      for (uint32_t at = 0; at < text.size(); ++at) {
        // A name has one definition at all of its bytes: the first one stands for the others.
        if (at > 0 && is_name_part(text[at]) && is_name_part(text[at - 1])) { continue; }
        auto was = definition(before, *old_file, at);
        if (!was || was->file == old_file) { continue; }
        int64_t shift = 0;
        bool is_inside = false;
        if (of_file != edited.end()) {
          for (const TextEdit& edit : of_file->edits) {
            is_inside = is_inside || (at >= edit.span.begin && at <= edit.span.end);
            if (edit.span.end <= at) { shift += static_cast<int64_t>(edit.text.size()) - (edit.span.end - edit.span.begin); }
          }
        }
        if (is_inside) { continue; }
        auto is = definition(now, *new_file, static_cast<uint32_t>(at + shift));
        REQUIRE(is);
        CHECK(now.path_of(*is->file) == moved_to(before.path_of(*was->file)));
        CHECK(is->file->text().substr(is->span.begin, is->span.end - is->span.begin) == was->file->text().substr(was->span.begin, was->span.end - was->span.begin));
        ++followed;
      }
    }
  }
  CHECK(followed > 1000);
}
