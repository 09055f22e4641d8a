// The server as a program: searches, measurements, comparisons and runs in the background. Small shell programs play the job in most of these tests.
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "target/hardware.h"
#include "target/peaks.h"
#include "tests/unit/lsp/server_program.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace std::chrono_literals;

TEST_CASE("a background job with a tuner that is played: progress, stop, result, one annotated edit") {
  const PlayedProgram tuner(
      "#!/bin/sh\ncat > /dev/null\n"
      "done_now() { printf '%s\\n' '{\"event\":\"done\",\"best_seconds\":0.001,\"schedule_text\":\"def f_tuned(sch: T.Schedule):\\n    pass\\n\",\"verified\":\"3 inputs\"}'; exit 0; }\n"
      "trap done_now INT\n"
      "i=0; while :; do i=$((i+1)); echo '{\"event\":\"progress\",\"trial\":'$i',\"trials\":1000,\"elapsed\":'$i'}'; sleep 0.05; done\n");
  Session session = start({"--tuner", tuner.path()});
  session.initialize({{"window", {{"workDoneProgress", true}}},
                      {"workspace", {{"workspaceEdit", {{"documentChanges", true}, {"changeAnnotationSupport", Json::object()}}}}}});
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(a: T.handle):\n    pass\n\nx = 1\n");
  Json at = {{"start", {{"line", 1}, {"character", 5}}}, {"end", {{"line", 1}, {"character", 5}}}};
  Json actions = session.call("textDocument/codeAction", {{"textDocument", {{"uri", uri}}}, {"range", at}, {"context", {{"diagnostics", Json::array()}}}});
  REQUIRE(actions["result"].size() == 2);
  CHECK(actions["result"][0]["title"] == "Tune f in the background");
  int run = session.request("workspace/executeCommand", {{"command", actions["result"][0]["command"]["command"]},
                                                         {"arguments", actions["result"][0]["command"]["arguments"]}});
  Json create = session.until([](const Json& message) { return message.value("method", "") == "window/workDoneProgress/create"; });
  CHECK(session.answer(run)["result"]["job"] == 1);
  session.send({{"id", create["id"]}, {"result", nullptr}});
  auto progress = [&](const char* kind) {
    return session.until([&](const Json& message) { return message.value("method", "") == "$/progress" && message["params"]["value"]["kind"] == kind; });
  };
  CHECK(progress("begin")["params"]["value"]["cancellable"] == true);
  CHECK_FALSE(progress("report").is_null());
  auto work = [&](const char* query) { return session.call("workspace/symbol", {{"query", query}})["result"]; };
  // The search is a symbol of the workspace, at its program. The worker gets the progress twice a second.
  Json running = work("tuning f");
  REQUIRE(running.size() == 1);
  CHECK(running[0]["name"].get<std::string>().starts_with("tuning f: "));
  CHECK(running[0]["containerName"] == "f");
  CHECK(running[0]["location"]["range"]["start"] == Json({{"line", 1}, {"character", 4}}));
  // The job continues when the worker dies.
  ::kill(worker_of(session), SIGKILL);
  CHECK_FALSE(progress("report").is_null());
  session.notify("window/workDoneProgress/cancel", {{"token", create["params"]["token"]}});
  CHECK(progress("end")["params"]["value"]["message"] == "f: 1.000 ms (3 inputs)");
  Json tuned = work("tuned");
  REQUIRE(tuned.size() == 1);
  CHECK(tuned[0]["name"] == "tuned f: 1.000 ms");

  // After an edit the place is found again.
  session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", 2}}},
                                            {"contentChanges", {{{"range", {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 0}, {"character", 0}}}}}, {"text", "# above\n"}}}}});
  at["start"]["line"] = at["end"]["line"] = 2;
  actions = session.call("textDocument/codeAction", {{"textDocument", {{"uri", uri}}}, {"range", at}, {"context", {{"diagnostics", Json::array()}}}});
  REQUIRE(actions["result"].size() == 3);
  CHECK(actions["result"][0]["title"] == "Insert best schedule");
  int insert = session.request("workspace/executeCommand", {{"command", "loopsmith.insertSchedule"}, {"arguments", {{{"job", 1}}}}});
  Json apply = session.until([](const Json& message) { return message.value("method", "") == "workspace/applyEdit"; });
  Json change = apply["params"]["edit"]["documentChanges"][0];
  CHECK(change["textDocument"]["version"] == 2);
  CHECK(change["edits"].size() == 1);
  CHECK(change["edits"][0]["range"]["start"]["line"] == 3);
  CHECK(change["edits"][0]["newText"] == "\n\n\ndef f_tuned(sch: T.Schedule):\n    pass");
  CHECK(apply["params"]["edit"]["changeAnnotations"].contains("schedule"));
  session.send({{"id", apply["id"]}, {"result", {{"applied", true}}}});
  CHECK(session.answer(insert).contains("result"));
  CHECK(session.goodbye() == 0);
}

TEST_CASE("a job and the processes that it started are stopped while a key is answered, and continue") {
  // A program in the job's process group reports that it was continued; the job would never end by itself.
  const PlayedProgram tuner(
      "#!/bin/bash\ncat > /dev/null\n"
      "( trap 'kill -INT $$; exit' CONT; while :; do sleep 0.05; done ) &\n"
      "trap 'echo \"{\\\"event\\\":\\\"done\\\",\\\"best_seconds\\\":0.001,\\\"schedule_text\\\":\\\"\\\"}\"; exit 0' INT\n"
      "echo '{\"event\":\"progress\",\"trial\":1,\"trials\":1000,\"elapsed\":1}'\n"
      "while :; do sleep 0.05; done\n");
  Session session = start({"--tuner", tuner.path()});
  session.initialize({{"window", {{"workDoneProgress", true}}}});
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(a: T.handle):\n    pass\n\nx = 1\n");
  int run = session.request("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", uri}, {"function", "f"}}}}});
  Json create = session.until([](const Json& message) { return message.value("method", "") == "window/workDoneProgress/create"; });
  CHECK(session.answer(run)["result"]["job"] == 1);
  session.send({{"id", create["id"]}, {"result", nullptr}});
  auto progress = [&](const char* kind, Deadline deadline) {
    return session.until([&](const Json& message) { return message.value("method", "") == "$/progress" && message["params"]["value"]["kind"] == kind; }, deadline);
  };
  CHECK_FALSE(progress("report", in(Session::patience)).is_null());
  bool ended = false;
  for (int version = 2; version < 600 && !ended; ++version) {
    session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", version}}},
                                              {"contentChanges", {{{"range", {{"start", {{"line", 4}, {"character", 4}}}, {"end", {{"line", 4}, {"character", 5}}}}}, {"text", "2"}}}}});
    ended = !progress("end", in(std::chrono::milliseconds(50))).is_null();
  }
  CHECK(ended);
  CHECK(session.goodbye() == 0);
}

TEST_CASE("a measurement with a program that is played: lenses show it, and when the text is another one by now") {
  const PlayedProgram bench(
      "#!/bin/sh\ncat > /dev/null\n"
      "echo '{\"name\":\"plain\",\"seconds\":0.004,\"gflops\":1.0}'\n"
      "if [ \"$4\" = --with ]; then echo '{\"name\":\"'$5'\",\"seconds\":0.001,\"gflops\":4.0,\"roofline\":0.5}'; fi\n");
  Session session = start({"--tuner", bench.path()});
  session.initialize();
  const std::string uri = "file:///a.tir";
  const std::string text =
      "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        with T.block(\"A\"):\n            vi = T.axis.spatial(16, i)\n            B[vi] = A[vi] + T.float32(1)\n\n\n"
      "@ls.schedule(f)\ndef s(sch: tir.Schedule) -> None:\n    (i,) = sch.get_loops(\"A\")\n    sch.parallel(i)\n";
  session.open(uri, text);
  (void)session.wait_for(uri, 1);
  auto titles = [&] {
    Json lenses = session.call("textDocument/codeLens", {{"textDocument", {{"uri", uri}}}})["result"];
    std::vector<std::string> out;
    for (const Json& lens : lenses) { out.push_back(lens["command"]["title"]); }
    return out;
  };
  auto has = [&](const std::string& title) {
    auto all = titles();
    return std::find(all.begin(), all.end(), title) != all.end();
  };
  CHECK(titles() == std::vector<std::string>{"tune", "bench", "run", "2 steps ok", "bench", "verify", "run", "apply"});
  Json argument = {{"uri", uri}, {"function", "f"}, {"schedule", "s"}};
  CHECK(session.call("workspace/executeCommand", {{"command", "loopsmith.bench"}, {"arguments", {argument}}})["result"]["job"] == 1);
  Json message = session.until([](const Json& one) { return one.value("method", "") == "window/showMessage"; });
  CHECK(message["params"]["message"] == "s: 1.000 ms, 4 GFLOP/s, 50.0% of the roofline, 4.00 times as fast as written");
  CHECK(has("1.000 ms, 4.00x: bench again"));
  // An edit outside the schedule does not matter; an edit of the schedule does.
  session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", 2}}},
                                            {"contentChanges", {{{"range", {{"start", {{"line", 11}, {"character", 19}}}, {"end", {{"line", 11}, {"character", 19}}}}}, {"text", "  # fast"}}}}});
  (void)session.wait_for(uri, 2);
  CHECK(has("1.000 ms, 4.00x before it was changed: bench again"));
  // A measurement has no schedule that could be inserted.
  CHECK(session.call("workspace/executeCommand", {{"command", "loopsmith.insertSchedule"}, {"arguments", {{{"job", 1}}}}}).contains("error"));
  CHECK(session.goodbye() == 0);
}

TEST_CASE("results are compared with a program that is played: the lens knows until the text is another one") {
  const PlayedProgram verify(
      "#!/bin/sh\n[ \"$1\" = verify ] || exit 2\n"
      "if grep -q parallel; then echo '{\"compared\":true,\"difference\":\"\",\"equal\":true,\"extent\":\"2 inputs, no error, seed 8\",\"how\":\"interpreter, all outputs\"}'\n"
      "else echo '{\"compared\":true,\"difference\":\"`B[3]` is 1, not 2\",\"equal\":false,\"how\":\"interpreter\"}'; exit 1; fi\n");
  Session session = start({"--tuner", verify.path()});
  session.initialize();
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        with T.block(\"A\"):\n"
                    "            vi = T.axis.spatial(16, i)\n            B[vi] = A[vi] + T.float32(1)\n\n\n"
                    "@ls.schedule(f)\ndef s(sch: tir.Schedule) -> None:\n    (i,) = sch.get_loops(\"A\")\n    sch.parallel(i)\n");
  (void)session.wait_for(uri, 1);
  // Behind it stand two more lenses, which run the program and write it.
  auto verify_title = [&] {
    Json lenses = session.call("textDocument/codeLens", {{"textDocument", {{"uri", uri}}}})["result"];
    REQUIRE(lenses.size() >= 3);
    return lenses[lenses.size() - 3]["command"]["title"].get<std::string>();
  };
  auto verdict = [&] {
    Json argument = {{"uri", uri}, {"function", "f"}, {"schedule", "s"}};
    CHECK(session.call("workspace/executeCommand", {{"command", "loopsmith.verify"}, {"arguments", {argument}}})["result"].contains("job"));
    return session.until([](const Json& message) { return message.value("method", "") == "window/showMessage"; })["params"];
  };
  CHECK(verify_title() == "verify");
  Json same = verdict();
  CHECK(same["type"] == 3);
  CHECK(same["message"] == "s keeps the results of f (interpreter, all outputs)");
  CHECK(verify_title() == "verified");
  CHECK(session.diagnostics(uri).empty());
  session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", 2}}},
                                            {"contentChanges", {{{"range", {{"start", {{"line", 11}, {"character", 8}}}, {"end", {{"line", 11}, {"character", 16}}}}}, {"text", "unroll"}}}}});
  (void)session.wait_for(uri, 2);
  CHECK(verify_title() == "verify");
  Json other = verdict();
  CHECK(other["type"] == 1);
  CHECK(other["message"] == "s does not keep the results of f: `B[3]` is 1, not 2");
  CHECK(verify_title() == "results differ: verify again");
  // The diagnostic stays at the schedule until the text changes.
  Json found = session.diagnostics(uri);
  REQUIRE(found.size() == 1);
  CHECK(found[0]["code"] == "results-differ");
  CHECK(found[0]["severity"] == 1);
  CHECK(found[0]["message"] == "`s` does not keep the results of `f`: `B[3]` is 1, not 2");
  CHECK(found[0]["range"]["start"]["line"] == 9);
  CHECK(found[0]["relatedInformation"][0]["location"]["range"]["start"]["line"] == 1);
  auto insert = [&](int version, int line, const char* text) {
    session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", version}}},
                                              {"contentChanges", {{{"range", {{"start", {{"line", line}, {"character", 0}}}, {"end", {{"line", line}, {"character", 0}}}}}, {"text", text}}}}});
    (void)session.wait_for(uri, version);
  };
  // Lines between the two do not belong to them.
  insert(3, 7, "\n");
  CHECK(session.diagnostics(uri)[0]["range"]["start"]["line"] == 10);
  insert(4, 12, "    # as it was\n");
  CHECK(session.diagnostics(uri).empty());
  CHECK(session.goodbye() == 0);
}

TEST_CASE("a search beside the editor is reported to it, where its program is open") {
  std::string folder = "/tmp/loopsmith-beside-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  Session session({server, "lsp"}, {{"XDG_DATA_HOME", folder}});
  session.initialize({{"workspace", {{"codeLens", {{"refreshSupport", true}}}}}});
  const std::string uri = "file:///recorded.tir";
  std::string text = tests::source_text("tests/golden/lsp/recorded.tir");
  session.open(uri, text);
  (void)session.wait_for(uri, 1);
  auto best = [&] {
    Json lenses = session.call("textDocument/codeLens", {{"textDocument", {{"uri", uri}}}})["result"];
    return std::any_of(lenses.begin(), lenses.end(), [](const Json& lens) { return lens["command"]["title"].get<std::string>().starts_with("best 650.0 ns"); });
  };
  CHECK_FALSE(best());
  std::string records = tests::source_text("tests/golden/lsp/recorded.jsonl");
  for (size_t at; (at = records.find("@machine")) != std::string::npos;) { records.replace(at, 8, target::machine_identity()); }
  std::ofstream(folder + "/records.jsonl") << records;
  REQUIRE(run_program({.argv = {server, "db", "import", folder + "/records.jsonl"}, .environment = {{"XDG_DATA_HOME", folder}}}, "", in(Session::patience)).ok());
  (void)session.until([](const Json& message) { return message.value("method", "") == "workspace/codeLens/refresh"; });
  CHECK(best());
  CHECK(session.goodbye() == 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a lens runs a program (the job is played): the results are shown") {
  const PlayedProgram runner(
      "#!/bin/sh\n[ \"$1\" = run ] || exit 2\ncat > /dev/null\n"
      "case \"$*\" in *--with*) echo '{\"severity\":\"error\",\"message\":\"no such thing\"}'; exit 1;; esac\n"
      "echo '{\"event\":\"sizes\",\"sizes\":{\"n\":64}}'\n"
      "echo '{\"dtype\":\"float32\",\"max\":2.5,\"mean\":1.5,\"min\":1,\"name\":\"B\",\"shape\":[16],\"not_finite\":3}'\n");
  Session session = start({"--tuner", runner.path()});
  session.initialize();
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        with T.block(\"A\"):\n"
                    "            vi = T.axis.spatial(16, i)\n            B[vi] = A[vi] + T.float32(1)\n");
  (void)session.wait_for(uri, 1);
  auto run = [&](const Json& argument) {
    CHECK(session.call("workspace/executeCommand", {{"command", "loopsmith.run"}, {"arguments", {argument}}})["result"].contains("job"));
    return session.until([](const Json& message) { return message.value("method", "") == "window/showMessage"; })["params"];
  };
  Json message = run({{"uri", uri}, {"function", "f"}});
  CHECK(message["type"] == 3);
  CHECK(message["message"] == "f ran on random inputs, with `n` = 64: B float32 (16), 1 to 2.5, mean 1.5, 3 not finite");
  Json failed = run({{"uri", uri}, {"function", "f"}, {"schedule", "s"}});
  CHECK(failed["type"] == 1);
  CHECK(failed["message"] == "run of f failed: no such thing");
  // A run that ended has no lens.
  Json lenses = session.call("textDocument/codeLens", {{"textDocument", {{"uri", uri}}}})["result"];
  CHECK(lenses[2]["command"]["title"] == "run");
  CHECK(session.goodbye() == 0);
}

TEST_CASE("the sizes of a program are asked for once, and the jobs of the program get them (the job is played)") {
  const PlayedProgram runner(
      "#!/bin/sh\ncat > /dev/null\n"
      "case \"$*\" in *'--arg n=128'*) ;; *) echo '{\"event\":\"sizes\",\"sizes\":{\"n\":64}}';; esac\n"
      "echo '{\"dtype\":\"float32\",\"max\":2,\"mean\":1,\"min\":0,\"name\":\"B\",\"shape\":[1]}'\n");
  Session session = start({"--tuner", runner.path()});
  session.initialize();
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n,))\n    B = T.match_buffer(b, (n,))\n    for i in range(n):\n"
                    "        with T.block(\"B\"):\n            vi = T.axis.spatial(n, i)\n            B[vi] = A[vi]\n");
  (void)session.wait_for(uri, 1);
  Json run_lens, sizes_lens;
  const Json lenses = session.call("textDocument/codeLens", {{"textDocument", {{"uri", uri}}}})["result"];
  for (const Json& lens : lenses) {
    if (lens["command"]["title"] == "run") { run_lens = lens["command"]; }
    if (lens["command"]["title"] == "sizes n") { sizes_lens = lens["command"]; }
  }
  REQUIRE(run_lens["arguments"][0]["sizes"] == Json({"n"}));
  auto run = [&] {
    CHECK(session.call("workspace/executeCommand", {{"command", "loopsmith.run"}, {"arguments", run_lens["arguments"]}})["result"].contains("job"));
    return session.until([](const Json& message) { return message.value("method", "") == "window/showMessage"; })["params"]["message"];
  };
  // An editor without questions.
  CHECK(run() == "f ran on random inputs, with `n` = 64: B float32 (1), 0 to 2, mean 1");
  Json question = {{"command", "loopsmith.sizes"}, {"arguments", {{{"uri", uri}, {"function", "f"}, {"sizes", {"n"}}}}}};
  Json asked = session.call("command/resolve", question)["result"];
  REQUIRE(asked["formFields"].size() == 1);
  CHECK(asked["formFields"][0]["description"] == "Size `n` of `f`");
  CHECK(asked["formFields"][0]["default"] == 64);
  for (const char* wrong : {"0", "-4", "2.5", "many", ""}) {
    question["formAnswers"] = {wrong};
    Json again = session.call("command/resolve", question)["result"];
    REQUIRE(again["formFields"].size() == 1);
    CHECK(again["formFields"][0]["error"] == "a whole number from 1 on");
  }
  question["formAnswers"] = {"128"};
  asked = session.call("command/resolve", question)["result"];
  CHECK_FALSE(asked.contains("formFields"));
  CHECK(session.call("workspace/executeCommand", asked)["result"]["sizes"] == Json({{"n", 128}}));
  CHECK(run() == "f ran on random inputs, with `n` = 128: B float32 (1), 0 to 2, mean 1");
  // The next job does not ask; the lens does.
  question.erase("formAnswers");
  CHECK_FALSE(session.call("command/resolve", question)["result"].contains("formFields"));
  CHECK(session.call("command/resolve", sizes_lens)["result"]["formFields"][0]["default"] == 128);
  CHECK(session.goodbye() == 0);
}

TEST_CASE("a program is interpreted on random inputs: its results, or the access that is out of bounds") {
  Session session = start();
  session.initialize();
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        with T.block(\"B\"):\n"
                    "            vi = T.axis.spatial(16, i)\n            B[vi] = A[vi] * T.float32(0) + T.float32(2)\n\n\n"
                    "@T.prim_func\ndef g(I: T.Buffer((4,), \"int32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(4):\n        with T.block(\"B\"):\n"
                    "            vi = T.axis.spatial(4, i)\n            B[I[vi] % 16 + 100] = T.float32(2)\n");
  (void)session.wait_for(uri, 1);
  // The action over the program has the same command.
  Json at = {{"start", {{"line", 1}, {"character", 5}}}, {"end", {{"line", 1}, {"character", 5}}}};
  Json actions = session.call("textDocument/codeAction", {{"textDocument", {{"uri", uri}}}, {"range", at}, {"context", {{"diagnostics", Json::array()}}}})["result"];
  Json action;
  for (const Json& one : actions) {
    if (one["title"] == "Interpret f on random inputs, every access checked") { action = one; }
  }
  REQUIRE_FALSE(action.is_null());
  auto verdict = [&](const Json& arguments) {
    CHECK(session.call("workspace/executeCommand", {{"command", action["command"]["command"]}, {"arguments", arguments}})["result"].contains("job"));
    return session.until([](const Json& message) { return message.value("method", "") == "window/showMessage"; })["params"];
  };
  Json good = verdict(action["command"]["arguments"]);
  CHECK(good["type"] == 3);
  CHECK(good["message"] == "f interpreted on random inputs: B float32 (16), 2 to 2, mean 2; every access in bounds");
  Json bad = verdict({{{"uri", uri}, {"function", "g"}}});
  CHECK(bad["type"] == 1);
  CHECK(bad["message"].get<std::string>().starts_with("interpretation of g failed: "));
  CHECK(bad["message"].get<std::string>().find("outside") != std::string::npos);
  CHECK(session.goodbye() == 0);
}

TEST_CASE("peaks of the machine are shown as soon as any program has measured them") {
  char folder[] = "/tmp/loopsmith-peaks-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const char* before = std::getenv("XDG_CACHE_HOME");
  std::optional<std::string> kept = before != nullptr ? std::optional<std::string>(before) : std::nullopt;
  ::setenv("XDG_CACHE_HOME", folder, 1);
  Session session({server, "lsp"}, {{"XDG_CACHE_HOME", folder}});
  session.initialize();
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(A: T.Buffer((64,), \"float32\")):\n    for i in range(64):\n        with T.block(\"A\"):\n            vi = T.axis.spatial(64, i)\n            A[vi] = A[vi] * T.float32(2)\n");
  CHECK(session.wait_for(uri, 1)["result"]["state"] == "done");
  auto hover_text = [&] {
    Json hover = session.call("textDocument/hover", {{"textDocument", {{"uri", uri}}}, {"position", {{"line", 2}, {"character", 8}}}});
    return hover["result"]["contents"]["value"].get<std::string>();
  };
  auto until = [&](const std::string& wanted) {
    for (Deadline end = in(30s); hover_text().find(wanted) == std::string::npos;) {
      if (Clock::now() > end) { return false; }
      std::this_thread::sleep_for(100ms);
    }
    return true;
  };
  CHECK(hover_text().find("loop `i`") != std::string::npos);
  CHECK(hover_text().find("roofline") == std::string::npos);
  // The file is written and read between two checks; the server notices the file, and also its removal.
  target::keep_peaks({.fma_f32_one = 125, .fma_f32_all = 200, .threads = 2, .copy = {{4096, 20, 20}}});
  session.notify("workspace/didChangeConfiguration", {{"settings", {{"loopsmith", {{"peaks", nullptr}}}}}});
  CHECK(until("one core reaches 125"));
  CHECK(::unlink(target::peaks_file().c_str()) == 0);
  bool is_gone = false;
  for (Deadline end = in(30s); !is_gone && Clock::now() < end; std::this_thread::sleep_for(100ms)) { is_gone = hover_text().find("roofline") == std::string::npos; }
  CHECK(is_gone);
  target::keep_peaks({.fma_f32_one = 100, .fma_f32_all = 200, .threads = 2, .copy = {{4096, 20, 20}}});
  CHECK(until("one core reaches 100"));
  // The peaks are measured again.
  target::keep_peaks({.fma_f32_one = 150, .fma_f32_all = 300, .threads = 2, .copy = {{4096, 20, 20}}});
  CHECK(until("one core reaches 150"));
  // Peaks in the settings do not change the caches of this machine, and caches in the settings do not change its peaks.
  bool has_caches = hover_text().find("the data of one run fits L1") != std::string::npos;
  session.notify("workspace/didChangeConfiguration", {{"settings", {{"loopsmith", {{"peaks", {{"gflops", 77}, {"gbytes", 20}}}}}}}});
  CHECK(until("one core reaches 77"));
  CHECK((hover_text().find("the data of one run fits L1") != std::string::npos) == has_caches);
  session.notify("workspace/didChangeConfiguration", {{"settings", {{"loopsmith", {{"caches", {1000}}}}}}});
  CHECK(until("fits L1 (1000 B)"));
  CHECK(hover_text().find("one core reaches 150") != std::string::npos);
  CHECK(::unlink(target::peaks_file().c_str()) == 0);
  CHECK(session.goodbye() == 0);
  if (kept) { ::setenv("XDG_CACHE_HOME", kept->c_str(), 1); } else { ::unsetenv("XDG_CACHE_HOME"); }
  ::rmdir((std::string(folder) + "/loopsmith").c_str());
  ::rmdir(folder);
}
