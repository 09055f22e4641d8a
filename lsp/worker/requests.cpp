// Answers to requests: see worker.h.
#include <algorithm>
#include <exception>
#include <utility>

#include "lsp/worker/faults.h"
#include "lsp/worker/worker.h"

namespace loopsmith::lsp {
namespace {

/// Routes do not throw by intent; an exception from a bug or a lack of memory costs one request.
auto answer_of(const Route& route, const RouteContext& context, const Json& params) -> RouteResult {
  try {
    misbehave_if_message_asks(params);
    return route.answer(context, params);
  } catch (const std::exception& fault) {
    return RouteError{ErrorCode::InternalError, std::string(find_method_row(route.method).name) + " failed: " + fault.what()};
  }
}

}  // namespace

/// Checks the documents that a request is about, and answers it.
auto Worker::result_of(const Request& request, OpenDocument* open, const CancelToken& token) -> Json {
  if (request.route == nullptr) { return error_response(request.id, ErrorCode::MethodNotFound, "the worker has no such method"); }
  if (open != nullptr && open->needs_check) { check(*open); }
  Working working(*this, open, request.ticket);
  workspace::SnapshotPtr snapshot = open != nullptr ? open->document->snapshot() : nullptr;
  RouteContext context{.snapshot = snapshot.get(), .encoding = encoding_, .capabilities = capabilities_, .jobs = jobs_, .cancel = token,
                       .sent_tokens = open != nullptr ? &open->sent_tokens : nullptr, .judged = open != nullptr ? &open->judged : nullptr,
                       .find = [this](const std::string& uri) -> const workspace::Snapshot* {
                         for (const auto& candidate : documents_) {
                           if (candidate->document->snapshot()->name() == uri) { return candidate->document->snapshot().get(); }
                         }
                         return nullptr;
                       }};
  std::vector<workspace::SnapshotPtr> all;   // keeps them
  for (const auto& candidate : documents_) {
    if (candidate->needs_check && find_method_row(request.route->method).scope == MethodScope::None) { check(*candidate); }
    all.push_back(candidate->document->snapshot());
    context.documents.push_back(all.back().get());
  }
  context.served = [this](const workspace::Snapshot& of, const std::string& uri) {
    for (const auto& candidate : documents_) {
      if (candidate->document->snapshot()->name() == of.name()) { candidate->served[uri] = of.version(); }
    }
  };
  context.machine = machine_.machine;
  RecordsOfPrograms recorded(records_, machine_.peaks);
  context.records = &records_;
  context.recorded = &recorded;
  context.folders = folders_;
  context.too_large_until = &too_large_until_;
  context.manual = manual_;
  context.loop_hints = loop_hints_;
  context.links = links_;
  context.progress = [this, ticket = request.ticket](const Json& token, Json value) {
    write(framed(to_text(notification("$/progress", {{"token", token}, {"value", std::move(value)}})), {{header::ticket, ticket}, {header::piece, 1}}));
  };
  bool needs_document = find_method_row(request.route->method).scope != MethodScope::None;
  if (needs_document && snapshot == nullptr) { return error_response(request.id, ErrorCode::InvalidParams, "the document is not open"); }
  RouteResult result = answer_of(*request.route, context, request.params);
  if (auto* problem = std::get_if<RouteError>(&result)) { return error_response(request.id, problem->code, problem->message); }
  return response(request.id, std::move(std::get<Json>(result)));
}

void Worker::answer(const Request& request) {
  OpenDocument* open = find(request.document);
  bool is_completion = open != nullptr && request.route != nullptr && request.route->method == Method::Completion;
  if (is_completion) {
    if (open->needs_check) { check(*open); }
    replay_briefly(*open);
  }
  CancelToken token;
  {
    std::lock_guard lock(mutex_);
    // The front has already answered cancelled requests and requests that an edit made stale.
    if (cancelled_.erase(request.ticket) > 0) { return; }
    current_ = CancelSource();
    current_ticket_ = request.ticket;
    current_document_ = request.document;
    token = current_.token();
    // An edit that arrived while schedules ran makes the request stale.
    if (is_completion && std::any_of(arrived_.begin(), arrived_.end(), [&](const Frame& frame) { return is_edit_of(frame, request.document); })) { current_.cancel(); }
  }
  Json message = result_of(request, open, token);
  {
    std::lock_guard lock(mutex_);
    current_ticket_ = 0;
    current_document_ = 0;
  }
  write(framed(to_text(message), {{header::ticket, request.ticket}}));
}

/// Answers requests that waited until the schedules of the requested version of their document have run.
void Worker::answer_settled() {
  for (size_t i = 0; i < settled_.size();) {
    OpenDocument* open = find(settled_[i].document);
    bool is_settled = open == nullptr;
    if (open != nullptr && !open->needs_check && !open->needs_replay) {
      auto version = int_in(settled_[i].params, "version");
      is_settled = !version || open->document->snapshot()->version() >= *version;
    }
    if (!is_settled) {
      ++i;
      continue;
    }
    Request request = std::move(settled_[i]);
    settled_.erase(settled_.begin() + static_cast<std::ptrdiff_t>(i));
    answer(request);
  }
}

}  // namespace loopsmith::lsp
