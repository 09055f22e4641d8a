// The front and its jobs: searches, comparisons and measurements, with their progress, limits, pauses and ends; workspaces that are not trusted.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "lsp/jobs/wording.h"
#include "tests/unit/lsp/front_stage.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

TEST_CASE("jobs stand still from a key on until the worker has nothing to do, and for the editor only") {
  Stage stage;
  stage.initialize();
  stage.open("a", "old");
  auto rest = [&](size_t frames) { stage.from_worker("", {{header::rest, frames}}); };
  size_t opened = stage.worker.size();
  CHECK(stage.jobs_held);
  rest(opened);
  CHECK_FALSE(stage.jobs_held);
  stage.replace("a", "new", 2);
  CHECK(stage.jobs_held);
  // This report of idleness is older than the key.
  rest(opened);
  CHECK(stage.jobs_held);
  rest(stage.worker.size());
  CHECK_FALSE(stage.jobs_held);
  (void)stage.hover("a");
  CHECK(stage.jobs_held);
  rest(stage.worker.size());
  // A message about a job, which the worker gets from the front, suspends no job.
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  rest(stage.worker.size());
  stage.front.on_job_end(1, {.code = 1}, "no");
  CHECK_FALSE(stage.jobs_held);
}

TEST_CASE("tuning: a program of its own, progress, stop and keep the best, insert as a versioned edit") {
  Stage stage;
  stage.initialize({{"window", {{"workDoneProgress", true}}}});
  stage.open("a", "def f(): pass");
  int id = stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}, {"trials", 64}}}}});
  CHECK(stage.answer_to(id)["result"]["job"] == 1);
  CHECK(stage.job_arguments == std::vector<std::string>{"tune", "-", "--json", "--function", "f", "--trials", "64"});
  CHECK(stage.job_input == "def f(): pass");
  int again = stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  CHECK(stage.answer_to(again)["error"]["message"] == "`f` is being tuned already");

  Json create = stage.last("window/workDoneProgress/create");
  stage.send({{"jsonrpc", "2.0"}, {"id", create["id"]}, {"result", nullptr}});
  CHECK(stage.last("$/progress")["params"]["value"]["title"] == "Tuning f");
  stage.front.on_job_line(1, R"({"event":"progress","trial":16,"trials":64,"best_seconds":0.00123,"elapsed":8})");
  Json report = stage.last("$/progress")["params"]["value"];
  CHECK(report["message"] == "trial 16/64, best 1.230 ms, 8 s so far, 17 s to 32 s left");
  CHECK(report["percentage"] == 25);
  for (const char* noise : {"", "no json", "{}", "[1]", R"({"event":"progress","trial":"x"})", R"({"event":9})"}) { stage.front.on_job_line(1, noise); }

  // The job outlives the worker, and the next worker gets its facts.
  stage.worker_dies();
  CHECK(std::any_of(stage.worker.begin(), stage.worker.end(), [](const Frame& f) { return f.body.find("loopsmith/job") != std::string::npos; }));

  stage.notify("window/workDoneProgress/cancel", {{"token", create["params"]["token"]}});
  CHECK(stage.signals == std::vector<std::pair<JobId, int>>{{1, SIGINT}});
  stage.front.on_job_line(1, R"({"event":"done","schedule_text":"def s(sch): ...","best_seconds":0.001,"verified":"3 inputs"})");
  stage.front.on_job_end(1, ExitStatus{}, "");
  CHECK(stage.last("$/progress")["params"]["value"]["message"] == "f: 1.000 ms (3 inputs)");

  int insert = stage.ask("workspace/executeCommand", {{"command", "loopsmith.insertSchedule"}, {"arguments", {{{"job", 1}}}}});
  auto ticket = *stage.worker.back().number(header::ticket);
  stage.from_worker(response(insert, {{"edit", {{"documentChanges", Json::array()}}}}), {{header::ticket, ticket}});
  CHECK(stage.answer_to(insert).is_null());
  Json apply = stage.last("workspace/applyEdit");
  CHECK(apply["params"]["label"] == "Insert best schedule");
  stage.send({{"jsonrpc", "2.0"}, {"id", apply["id"]}, {"result", {{"applied", true}}}});
  CHECK(stage.answer_to(insert).contains("result"));
  CHECK(stage.error_of(stage.ask("workspace/executeCommand", {{"command", "loopsmith.insertSchedule"}, {"arguments", {{{"job", 1}}}}})) == invalid_params);
}

TEST_CASE("the nearer limit gives the progress of a search") {
  auto message = [](Json arguments, const char* line) {
    Stage stage;
    stage.initialize({{"window", {{"workDoneProgress", true}}}});
    stage.open("a", "x");
    arguments.update({{"uri", "a"}, {"function", "f"}});
    stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", Json::array({arguments})}});
    stage.send({{"jsonrpc", "2.0"}, {"id", stage.last("window/workDoneProgress/create")["id"]}, {"result", nullptr}});
    CHECK(stage.last("$/progress")["params"]["value"]["percentage"] == 0);
    stage.front.on_job_line(1, line);
    Json report = stage.last("$/progress")["params"]["value"];
    return report["message"].get<std::string>() + (report.contains("percentage") ? fmt::format(": {}%", report["percentage"].get<int>()) : "");
  };
  CHECK(message({{"trials", 600}, {"seconds", 9}}, R"({"event":"progress","trial":70,"trials":600,"elapsed":8})") == "trial 70/600, 8 s so far, 1 s left: 88%");
  CHECK(message({{"trials", 100}, {"seconds", 900}}, R"({"event":"progress","trial":80,"trials":100,"elapsed":80})") == "trial 80/100, 1:20 min so far, 14 s to 26 s left: 80%");
  // Either limit may end the search first: the trials or the time.
  CHECK(message({{"trials", 100}, {"seconds", 100}}, R"({"event":"progress","trial":80,"trials":100,"elapsed":80})") == "trial 80/100, 1:20 min so far, 14 s to 20 s left: 80%");
  CHECK(message({{"seconds", 5}}, R"({"event":"progress","trial":3,"elapsed":2})") == "trial 3, 2 s so far, 3 s left: 40%");
  // A limit that the command leaves open comes from the search, or stays unknown.
  CHECK(message(Json::object(), R"({"event":"progress","trial":3,"elapsed":15,"limit":60})") == "trial 3, 15 s so far, 45 s left: 25%");
  CHECK(message(Json::object(), R"({"event":"progress","trial":3,"elapsed":15})") == "trial 3, 15 s so far");
}

TEST_CASE("a search begins with the answers to its questions; invalid answers count as none") {
  Stage stage;
  stage.initialize({{"experimental", {{"interactiveInputTypes", {"string", "number"}}}}});
  stage.open("a", "x");
  Json tune = {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}, {"trials", 3}}}}};
  Json asked = stage.answer_to(stage.ask("command/resolve", tune))["result"];
  REQUIRE(asked["formFields"].size() == 4);
  CHECK(asked["formFields"][0]["default"] == 3);
  asked.erase("formFields");
  asked["formAnswers"] = {"40", 12.5, "llvm -num-cores=1", "metaschedule"};
  Json ready = stage.answer_to(stage.ask("command/resolve", asked))["result"];
  CHECK(ready == asked);
  stage.ask("workspace/executeCommand", ready);
  CHECK(stage.job_arguments == std::vector<std::string>{"tune", "-", "--json", "--function", "f", "--target", "llvm -num-cores=1", "--space", "metaschedule", "--trials", "40", "--time", "12.5"});
  stage.front.on_job_end(1, ExitStatus{}, "");
  ready["formAnswers"] = {1};
  stage.ask("workspace/executeCommand", ready);
  CHECK(stage.job_arguments == std::vector<std::string>{"tune", "-", "--json", "--function", "f", "--trials", "3"});
}

TEST_CASE("a search is paused and goes on; stopped while it stands still, it keeps its best") {
  Stage stage;
  stage.initialize({{"window", {{"workDoneProgress", true}}}, {"experimental", {{"loopsmithViews", true}}}});
  stage.open("a", "x");
  auto command = [&](const char* name, Json argument) { return stage.ask("workspace/executeCommand", {{"command", name}, {"arguments", Json::array({std::move(argument)})}}); };
  CHECK(stage.answer_to(command("loopsmith.tune.pause", {{"uri", "a"}}))["error"]["message"] == "nothing is being tuned here");
  command("loopsmith.tune", {{"uri", "a"}, {"function", "f"}});
  Json create = stage.last("window/workDoneProgress/create");
  stage.send({{"jsonrpc", "2.0"}, {"id", create["id"]}, {"result", nullptr}});
  // Before the job's first line a signal would end it, so the signal waits.
  CHECK(stage.answer_to(command("loopsmith.tune.pause", {{"uri", "a"}})).contains("result"));
  CHECK(stage.signals.empty());
  CHECK(stage.last("$/progress")["params"]["value"]["message"] == "paused: starting");
  stage.front.on_job_line(1, R"({"event":"progress","trial":3,"best_seconds":0.25,"elapsed":2,"phase":"paused"})");
  CHECK(stage.signals == std::vector<std::pair<JobId, int>>{{1, SIGUSR1}});
  CHECK(stage.last("loopsmith/tuning")["params"]["state"] == "paused");
  std::string sent = stage.worker.back().body;
  std::string why;
  CHECK(parse_json(sent, why).value_or(Json())["params"]["phase"] == "paused");
  CHECK(stage.answer_to(command("loopsmith.tune.pause", {{"job", 1}})).contains("result"));
  CHECK(stage.signals.size() == 1);
  command("loopsmith.tune.resume", {{"job", 1}});
  CHECK(stage.signals.back() == std::pair<JobId, int>{1, SIGUSR2});
  CHECK(stage.answer_to(command("loopsmith.tune.resume", {{"job", 1}}))["error"]["message"] == "no such search is paused");
  command("loopsmith.tune.pause", Json::object());
  CHECK(stage.signals.back() == std::pair<JobId, int>{1, SIGUSR1});
  command("loopsmith.tune.stop", {{"uri", "a"}});
  CHECK(stage.signals.back() == std::pair<JobId, int>{1, SIGINT});
  CHECK(stage.answer_to(command("loopsmith.tune.resume", {{"job", 1}})).contains("error"));
  stage.front.on_job_line(1, R"({"event":"done","schedule_text":"def s(sch): ...","best_seconds":0.25,"verified":"3 inputs"})");
  stage.front.on_job_end(1, ExitStatus{}, "");
  CHECK(stage.last("loopsmith/tuning")["params"]["state"] == "done");
}

TEST_CASE("in a workspace that is not trusted nothing of a file is executed") {
  Stage stage;
  Json params = {{"capabilities", Json::object()}, {"initializationOptions", {{"trusted", false}}}};
  stage.ask("initialize", params);
  stage.notify("initialized", Json::object());
  stage.open("a", "x");
  for (const char* name : {"loopsmith.run", "loopsmith.bench", "loopsmith.verify", "loopsmith.tune", "loopsmith.interpret", "loopsmith.attachRepl"}) {
    Json answer = stage.answer_to(stage.ask("workspace/executeCommand", {{"command", name}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}}));
    INFO(name << ": " << answer.dump());
    CHECK(answer["error"]["message"].get<std::string>().starts_with("this workspace is not trusted"));
  }
  CHECK(stage.job_arguments.empty());
  stage.notify("workspace/didChangeConfiguration", {{"settings", {{"loopsmith", {{"trusted", true}}}}}});
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.bench"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  CHECK(stage.job_arguments[0] == "bench");
}

TEST_CASE("a block is interpreted alone, two schedules are timed in turns") {
  Stage stage;
  stage.initialize({});
  stage.open("a", "x");
  // Settings of other commands do not apply.
  stage.notify("workspace/didChangeConfiguration", {{"settings", {{"tune", {{"target", "llvm"}, {"seconds", 4}}}}}});
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.interpret"}, {"arguments", {{{"uri", "a"}, {"function", "f"}, {"block", "C"}}}}});
  CHECK(stage.job_arguments[0] == "interpret");
  CHECK(std::find(stage.job_arguments.begin(), stage.job_arguments.end(), "--target") == stage.job_arguments.end());
  CHECK(std::find(stage.job_arguments.begin(), stage.job_arguments.end(), "--block") + 1 == std::find(stage.job_arguments.begin(), stage.job_arguments.end(), "C"));
  stage.front.on_job_line(1, R"({"name":"C","dtype":"int32","shape":[8]})");
  stage.front.on_job_end(1, ExitStatus{}, "");
  CHECK(stage.last("window/showMessage")["params"]["message"] == "block C of f interpreted on random inputs: C int32 (8); every access in bounds");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.bench"}, {"arguments", {{{"uri", "a"}, {"function", "f"}, {"schedule", "s"}, {"other", "t"}}}}});
  CHECK(stage.job_arguments == std::vector<std::string>{"bench", "-", "--json", "--with", "s", "--with", "t", "--no-plain", "--function", "f"});
  stage.front.on_job_line(2, R"({"name":"s","seconds":0.002})");
  stage.front.on_job_line(2, R"({"name":"t","seconds":0.001,"difference":"faster"})");
  stage.front.on_job_end(2, ExitStatus{}, "");
  CHECK(stage.last("window/showMessage")["params"]["message"] == "s: 2.000 ms, t: 1.000 ms, measured in turns; t is 2.00 times as fast");
}

TEST_CASE("an interrupted search is paused in the next session, and continues with the rest of its time") {
  DataFolder folder;
  FrontOptions options{.searches = folder.path + "/searches"};
  auto command = [](Stage& stage, const char* name, Json argument) { return stage.ask("workspace/executeCommand", {{"command", name}, {"arguments", Json::array({std::move(argument)})}}); };
  auto job_sent = [](const Stage& stage) {
    Json last;
    for (const Frame& frame : stage.worker) {
      Json message = Json::parse(frame.body, nullptr, false);
      if (message.is_object() && string_in(message, "method") == "loopsmith/job") { last = message["params"]; }
    }
    return last;
  };
  {
    Stage first(options);
    first.initialize({});
    first.open("a", "x");
    CHECK_FALSE(std::filesystem::exists(folder.path + "/searches"));
    command(first, "loopsmith.tune", {{"uri", "a"}, {"function", "f"}, {"seconds", 60.0}, {"trials", 64}});
    first.front.on_job_line(1, R"({"event":"progress","trial":12,"trials":64,"best_seconds":0.25,"elapsed":20})");
    {
      // Another editor at the same time does not continue the search, too.
      Stage beside(options);
      beside.initialize({});
      beside.open("a", "x");
      CHECK(job_sent(beside).is_null());
    }
    // The editor closes. Lines of the ending search change nothing. A server that starts before the search has ended finds it.
    first.ask("shutdown", nullptr);
    {
      Stage again(options);
      again.initialize({});
      again.open("a", "x");
      CHECK(job_sent(again)["phase"] == "kept");
    }
    first.front.on_job_line(1, R"({"event":"done","schedule_text":"def s(sch): ...","best_seconds":0.2,"verified":"3 inputs"})");
    first.front.on_job_end(1, ExitStatus{}, "");
  }
  Stage second(options);
  second.initialize({});
  second.open("b", "x");
  CHECK(job_sent(second).is_null());
  second.open("a", "y");
  Json job = job_sent(second);
  CHECK(job["phase"] == "kept");
  CHECK(progress_text(job_from(job).value()) == "trial 12/64, best 250.0 ms");
  CHECK(second.job_arguments.empty());
  // The search continues on the present text.
  CHECK(second.answer_to(command(second, "loopsmith.tune.resume", {{"uri", "a"}})).contains("result"));
  CHECK(second.job_arguments == std::vector<std::string>{"tune", "-", "--json", "--function", "f", "--trials", "64", "--time", "40"});
  CHECK(second.job_input == "y");
  second.front.on_job_line(1, R"({"event":"progress","trial":0,"trials":64,"elapsed":1})");
  command(second, "loopsmith.tune.pause", {{"uri", "a"}});
  CHECK(progress_text(job_from(job_sent(second)).value()) == "trial 0/64, 1 s so far, 39 s left");
  command(second, "loopsmith.tune.resume", {{"uri", "a"}});
  second.front.on_job_line(1, R"({"event":"done","schedule_text":"def s(sch): ...","best_seconds":0.2,"verified":"3 inputs"})");
  second.front.on_job_end(1, ExitStatus{}, "");
  // A finished or abandoned search is not offered again.
  CHECK(std::filesystem::is_empty(folder.path + "/searches"));
  command(second, "loopsmith.tune", {{"uri", "b"}, {"function", "g"}});
  second.ask("shutdown", nullptr);
  CHECK_FALSE(std::filesystem::is_empty(folder.path + "/searches"));
  // No content of such a file may prevent a document from being opened.
  int number = 0;
  for (const char* text : {R"({"uri":"c","function":"f","measured":-1,"best_seconds":-2,"seconds":-1e300,"percentage":9e99,"trials":-5})", R"({"uri":"c","function":"g","measured":"7"})", R"({"uri":"c"})", "[", "", "\xff\xfe", "null"}) {
    std::ofstream(fmt::format("{}/searches/{:016x}.json", folder.path, ++number)) << text;
  }
  Stage third(options);
  third.initialize({});
  third.open("c", "x");
  CHECK(progress_text(job_from(job_sent(third)).value()) == "nothing was measured yet");
  CHECK(third.answer_to(command(third, "loopsmith.tune.resume", {{"uri", "c"}})).contains("result"));
}

TEST_CASE("a search that is stopped is reported as stopped at once, and offered only once its best was compared") {
  Stage stage;
  stage.initialize({{"window", {{"workDoneProgress", true}}}, {"experimental", {{"loopsmithViews", true}}}});
  stage.open("a", "x");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  Json create = stage.last("window/workDoneProgress/create");
  stage.send({{"jsonrpc", "2.0"}, {"id", create["id"]}, {"result", nullptr}});
  stage.front.on_job_line(1, R"({"event":"progress","trial":3,"best_seconds":0.25,"phase":"measuring"})");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune.stop"}, {"arguments", {{{"job", 1}}}}});
  CHECK(stage.last("$/progress")["params"]["value"]["kind"] == "report");
  CHECK(stage.last("loopsmith/tuning")["params"]["state"] == "running");
  // The search ends; the comparison has begun.
  stage.front.on_job_line(1, R"({"event":"progress","trial":3,"best_seconds":0.25,"phase":"verifying","stopped":true})");
  Json end = stage.last("$/progress")["params"]["value"];
  CHECK(end["kind"] == "end");
  CHECK(end["message"] == "tuning of f is stopped; comparing the best, 250.0 ms, with the program");
  Json view = stage.last("loopsmith/tuning")["params"];
  CHECK(view["state"] == "comparing");
  CHECK(!view.contains("verified"));
  CHECK(!view.contains("schedule_text"));
  std::string why;
  std::string sent = stage.worker.back().body;
  Json job = parse_json(sent, why).value_or(Json())["params"];
  CHECK(job["phase"] == "comparing stopped");
  CHECK(!job.contains("schedule_text"));
  // The comparison may take any time.
  stage.advance(std::chrono::milliseconds(5050));
  stage.front.on_tick();
  CHECK(stage.signals == std::vector<std::pair<JobId, int>>{{1, SIGINT}});

  SECTION("then it is offered") {
    stage.front.on_job_line(1, R"({"event":"done","schedule_text":"def s(sch): ...","best_seconds":0.25,"verified":"3 inputs"})");
    stage.front.on_job_end(1, ExitStatus{}, "");
    CHECK(stage.last("loopsmith/tuning")["params"]["verified"] == "3 inputs");
    // The editor shows the trials, and offers the result itself.
    CHECK(stage.last("loopsmith/tuning")["params"]["best_seconds"] == 0.25);
  }
  SECTION("stopped once more, it is not") {
    stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune.stop"}, {"arguments", {{{"job", 1}}}}});
    CHECK(stage.signals.size() == 2);
    stage.front.on_job_line(1, R"({"event":"error","message":"the best was not compared"})");
    stage.front.on_job_end(1, ExitStatus{.code = 1}, "");
    CHECK(stage.last("loopsmith/tuning")["params"]["state"] == "failed");
    CHECK(stage.last("window/showMessage")["params"]["message"] == "the best of f was not compared with the program and is not offered; its measurements are kept");
    CHECK(stage.last("window/showMessage")["params"]["type"] == 3);
  }
  SECTION("what is wrong is not") {
    stage.front.on_job_line(1, R"({"event":"error","message":"no schedule was found in 3 trials; wrong: 1"})");
    stage.front.on_job_end(1, ExitStatus{.code = 1}, "");
    CHECK(stage.last("window/showMessage")["params"]["message"] == "tuning of f failed: no schedule was found in 3 trials; wrong: 1");
    std::string last = stage.worker.back().body;
    CHECK(parse_json(last, why).value_or(Json())["params"]["phase"] == "gone");
  }
}

TEST_CASE("options set the time of a search if the command does not; foreign settings change nothing") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x");
  stage.notify("workspace/didChangeConfiguration", Json::parse(R"({"settings":{"loopsmith":{"tune":{"seconds":4,"target":"llvm"}}}})"));
  stage.notify("workspace/didChangeConfiguration", Json::parse(R"({"settings":null})"));
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  CHECK(stage.job_arguments == std::vector<std::string>{"tune", "-", "--json", "--function", "f", "--target", "llvm", "--time", "4"});
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "g"}, {"trials", 8}}}}});
  CHECK(stage.job_arguments == std::vector<std::string>{"tune", "-", "--json", "--function", "g", "--target", "llvm", "--trials", "8"});
}

TEST_CASE("an editor with views hears of every trial of a search, and how it ended") {
  Stage stage;
  stage.initialize({{"experimental", {{"loopsmithViews", true}}}});
  stage.open("a", "x");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  // The second line follows too soon to be sent separately.
  stage.front.on_job_line(1, R"({"event":"progress","trial":1,"measured":[0.5],"best_seconds":0.5})");
  Json first = stage.last("loopsmith/tuning")["params"];
  CHECK(first["measured"] == Json({0.5}));
  CHECK(first["state"] == "running");
  stage.front.on_job_line(1, R"({"event":"progress","trial":2,"measured":[0.25],"best_seconds":0.25})");
  stage.front.on_job_line(1, R"({"event":"progress","trial":3,"measured":[0],"best_seconds":0.25,"arms":[{"name":"tile","measured":2,"failed":1}],"failures":{"crashed":1}})");
  stage.front.on_job_line(1, R"x({"event":"done","schedule_text":"@ls.schedule(f)","best_seconds":0.25,"verified":"interpreter",
                                 "causes":[{"outcome":"crashed","message":"signal 11","count":1,"trace":"[[], []]","is_prefix":false,"reproduce":"loopsmith schedule a"},7]})x");
  stage.front.on_job_end(1, ExitStatus{}, "");
  Json last = stage.last("loopsmith/tuning")["params"];
  CHECK(last["measured"] == Json({0.25, 0}));
  CHECK(last["trial"] == 3);
  CHECK(last["state"] == "done");
  CHECK(last["schedule_text"] == "@ls.schedule(f)");
  CHECK(last["arms"][0]["name"] == "tile");
  CHECK(last["failures"]["crashed"] == 1);
  REQUIRE(last["causes"].size() == 2);
  CHECK(last["causes"][0] == Json({{"outcome", "crashed"}, {"message", "signal 11"}, {"count", 1}, {"reproduce", "loopsmith schedule a"}}));
}

TEST_CASE("an editor with views hears the causes of a search that found nothing") {
  Stage stage;
  stage.initialize({{"experimental", {{"loopsmithViews", true}}}});
  stage.open("a", "x");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  stage.front.on_job_line(1, R"({"event":"error","message":"no schedule was found","causes":[{"outcome":"not legal","count":3}]})");
  stage.front.on_job_end(1, ExitStatus{.code = 1}, "");
  const Json last = stage.last("loopsmith/tuning")["params"];
  CHECK(last["state"] == "failed");
  CHECK(last["causes"][0]["count"] == 3);
}

TEST_CASE("a tuner that does not stop is killed; one that fails is reported with its reason") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune.stop"}, {"arguments", {{{"job", 1}}}}});
  stage.front.on_tick();
  CHECK(stage.signals.size() == 1);
  stage.advance(std::chrono::milliseconds(5050));
  stage.front.on_tick();
  CHECK(stage.signals.back() == std::pair<JobId, int>{1, SIGKILL});
  stage.front.on_job_end(1, ExitStatus{.signal = SIGKILL}, "warning\nno such function `f`\n");
  CHECK(stage.last("window/showMessage")["params"]["message"] == "tuning of f failed: no such function `f`");
}

TEST_CASE("a tuner that has found something is given time to finish") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  stage.front.on_job_line(1, R"({"event":"progress","trial":3,"best_seconds":0.25})");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune.stop"}, {"arguments", {{{"job", 1}}}}});
  stage.advance(std::chrono::milliseconds(5050));
  stage.front.on_tick();
  CHECK(stage.signals == std::vector<std::pair<JobId, int>>{{1, SIGINT}});
}
