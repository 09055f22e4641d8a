#!/usr/bin/env node
// Checks every message that the server sends in the transcripts of tests/golden/lsp against the protocol's official types: each becomes a typed literal in a
// TypeScript file, and the compiler reports missing members, unknown members and wrong types. Every standard request that the server knows must
// occur with an answer. The same for random sessions (tests/unit/lsp/random_sessions.cpp), and for recordings on the command line. The types come
// with the VS Code extension's dependencies, which are generated from LSP's meta model.
//   run.mjs [--keep] [--all-but METHOD,...] [RECORDING.jsonl]...
//     recordings are files of `loopsmith lsp --record`; then nothing else is checked. --all-but: the recordings must answer every request that the
//     server knows, except these, which the editor does not use
//   LOOPSMITH_SESSIONS_PROGRAM                unit_lsp_server: plays random sessions and records them; unset: none
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const extension = join(root, 'editors/vscode');
if (!existsSync(join(extension, 'node_modules/vscode-languageclient'))) {
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: extension, stdio: ['ignore', 'ignore', 'inherit'] });
}

// The result type of each method; Loopsmith's own methods and those of 3.18 are written out.
const results = {
  'initialize': 'P.InitializeResult',
  'shutdown': 'null',
  'textDocument/hover': 'P.Hover | null',
  'textDocument/codeAction': '(P.Command | P.CodeAction)[] | null',
  'codeAction/resolve': 'P.CodeAction',
  'textDocument/diagnostic': 'P.DocumentDiagnosticReport',
  'workspace/diagnostic': 'P.WorkspaceDiagnosticReport',
  'workspace/symbol': 'P.SymbolInformation[] | null',
  'textDocument/prepareCallHierarchy': 'P.CallHierarchyItem[] | null',
  'callHierarchy/incomingCalls': 'P.CallHierarchyIncomingCall[] | null',
  'callHierarchy/outgoingCalls': 'P.CallHierarchyOutgoingCall[] | null',
  'textDocument/documentLink': 'P.DocumentLink[] | null',
  'textDocument/documentSymbol': 'P.DocumentSymbol[] | null',
  'textDocument/foldingRange': 'P.FoldingRange[] | null',
  'textDocument/selectionRange': 'P.SelectionRange[] | null',
  'textDocument/formatting': 'P.TextEdit[] | null',
  'textDocument/rangeFormatting': 'P.TextEdit[] | null',
  'textDocument/rangesFormatting': 'P.TextEdit[] | null',
  'textDocument/onTypeFormatting': 'P.TextEdit[] | null',
  'textDocument/declaration': 'P.Definition | null',
  'textDocument/definition': 'P.Definition | null',
  'textDocument/typeDefinition': 'P.Location | null',
  'textDocument/implementation': 'P.Location[] | null',
  'textDocument/references': 'P.Location[] | null',
  'textDocument/documentHighlight': 'P.DocumentHighlight[] | null',
  'textDocument/prepareRename': '{ range: P.Range; placeholder: string } | null',
  'textDocument/rename': 'P.WorkspaceEdit | null',
  'workspace/willRenameFiles': 'P.WorkspaceEdit | null',
  'textDocument/semanticTokens/full': 'P.SemanticTokens | null',
  'textDocument/semanticTokens/full/delta': 'P.SemanticTokens | P.SemanticTokensDelta | null',
  'textDocument/semanticTokens/range': 'P.SemanticTokens | null',
  'textDocument/inlayHint': 'P.InlayHint[] | null',
  'textDocument/completion': 'P.CompletionList',
  'completionItem/resolve': 'P.CompletionItem',
  'textDocument/signatureHelp': 'P.SignatureHelp | null',
  'textDocument/codeLens': 'P.CodeLens[] | null',
  'workspace/executeCommand': 'P.LSPAny',
  'workspace/textDocumentContent': '{ text: string }',
  'command/resolve': '{ command?: string; arguments?: P.LSPAny[]; formAnswers?: P.LSPAny[]; formFields?: { description: string; type: { kind: string }; default?: P.LSPAny; error?: string }[] }',
  'loopsmith/waitForState': '{ uri: string; version: number; state: "done" | "crashed" }',
  'loopsmith/ir': 'P.LSPAny',
  'loopsmith/memoryUsage': '{ name: string; bytes: number; children?: P.LSPAny[]; text: string }',
  'loopsmith/loops': '{ title: string; function: string; nodes: { place: number; depth: number; kind: "block" | "serial" | "parallel" | "vectorized" | "unrolled" | "bound"; text: string; name: string; facts: string; range?: P.Range }[] } | null',
  'loopsmith/viewMoves': '{ about: string; moves: { title: string; statement: string; edit?: P.WorkspaceEdit; reason?: string; other?: P.Range }[]; reason?: string; factors?: string }',
  'loopsmith/viewHover': 'P.Hover | null',
  'loopsmith/moves': '{ title: string; statement: string; edit?: P.WorkspaceEdit; reason?: string }[]',
};
const sent = {
  'textDocument/publishDiagnostics': 'P.PublishDiagnosticsParams',
  'window/logMessage': 'P.LogMessageParams',
  'window/showMessage': 'P.ShowMessageParams',
  'window/workDoneProgress/create': 'P.WorkDoneProgressCreateParams',
  'workspace/applyEdit': 'P.ApplyWorkspaceEditParams',
  'window/showDocument': 'P.ShowDocumentParams',
  'workspace/codeLens/refresh': 'null',
  'workspace/diagnostic/refresh': 'null',
  'workspace/textDocumentContent/refresh': '{ uri: string }',
  '$/progress': '{ token: string | number; value: P.WorkDoneProgressBegin | P.WorkDoneProgressReport | P.WorkDoneProgressEnd }',
  '$/logTrace': '{ message: string; verbose?: string }',
  'loopsmith/tuning': 'P.LSPAny',
  'experimental/serverStatus': '{ health: "ok" | "warning" | "error"; quiescent: boolean; message: string }',
  'loopsmith/replayProgress': '{ uri: string; version: number; marks: { range: P.Range; state: "stale" | "running" | "failed" }[] }',
};

// The types of partial results, by method.
const pieces = {
  'workspace/symbol': 'P.SymbolInformation[]',
  'workspace/diagnostic': 'P.WorkspaceDiagnosticReportPartialResult',
  'textDocument/documentSymbol': 'P.DocumentSymbol[]',
  'textDocument/references': 'P.Location[]',
};

const lines = ["import * as P from 'vscode-languageserver-protocol';", '// 3.18 has what the types of 3.17 lack.',
  'type Initialized = P.InitializeResult & { capabilities: { workspace?: { textDocumentContent?: { schemes: string[] } } } };'];
const origin = [];
const answered = new Set();
const cut = new Set();   // methods with answers in pieces
let count = 0;
const failures = [];
const add = (where, type, value) => {
  lines.push(`{ const message: ${type} = ${JSON.stringify(value)}; void message; }`);
  origin[lines.length] = where;
  ++count;
};
/// Requests of the client, by id, and by the token that pieces of their answers come with.
const note = (message, methods) => {
  if (!('id' in message) || !message.method) { return; }
  methods.set(JSON.stringify(message.id), message.method);
  const token = message.params?.partialResultToken;
  if (typeof token === 'string' || typeof token === 'number') { methods.set(`token ${JSON.stringify(token)}`, message.method); }
};
const piece = (message, methods) => message.method === '$/progress' ? methods.get(`token ${JSON.stringify(message.params.token)}`) : undefined;
/// The messages of the server, with the methods of requests by id.
const take = (where, message, methods) => {
  const of = piece(message, methods);
  if (of) {
    if (!(of in pieces)) { failures.push(`${where}: a piece of an answer to \`${of}\`, of which nothing is known here`); return; }
    cut.add(of);
    add(where, pieces[of], message.params.value);
    return;
  }
  if (message.method) {
    if (!(message.method in sent)) { failures.push(`${where}: the server sends \`${message.method}\`, of which nothing is known here`); return; }
    add(where, sent[message.method], message.params ?? null);
  } else if (message.error) {
    add(where, '{ code: number; message: string; data?: P.LSPAny }', message.error);
  } else {
    if (!('result' in message) || !('id' in message)) { failures.push(`${where}: an answer has \`id\` and \`result\``); return; }
    const method = methods.get(JSON.stringify(message.id));
    if (!(method in results)) { failures.push(`${where}: an answer to \`${method}\`, of which nothing is known here`); return; }
    if (method === 'initialize' && message.result.capabilities === 'CAPABILITIES') { return; }
    if (message.result !== null || results[method] === 'null') { answered.add(method); }
    add(where, method === 'initialize' ? 'Initialized' : results[method], message.result);
  }
};

/// A recording has many messages of one form: each form is checked once. Names, texts and numbers do not belong to the form, except values that select a variant.
const choices = new Set(['kind', 'severity', 'type', 'insertTextFormat', 'insertTextMode', 'tags', 'method', 'state']);
const form = (value, key) => Array.isArray(value) ? [...new Set(value.map(one => JSON.stringify(form(one, key))))]
  : value !== null && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([name, below]) => [key === 'changes' ? 'uri' : name, form(below, name)]))
  : choices.has(key) ? value : typeof value === 'number' ? (value < 0 || !Number.isInteger(value) ? value : 0) : typeof value;
const seen = new Set();
let recorded = 0;
const takeRecording = (path) => {
  const methods = new Map();
  readFileSync(path, 'utf8').split('\n').forEach((text, i) => {
    if (!text) { return; }
    const { from, message } = JSON.parse(text);
    if (!message) { return; }
    if (from === 'client') {
      note(message, methods);
      return;
    }
    if (message.jsonrpc !== '2.0') { failures.push(`${path}:${i + 1}: no \`jsonrpc\``); }
    ++recorded;
    const known = JSON.stringify([piece(message, methods) ?? null, message.method ?? methods.get(JSON.stringify(message.id)) ?? null, form(message)]);
    if (seen.has(known)) { return; }
    seen.add(known);
    take(`${path}:${i + 1}`, message, methods);
  });
};

const all = process.argv.indexOf('--all-but');
const recordings = process.argv.slice(2).filter((argument, i) => argument !== '--keep' && (all < 0 || (i + 2 !== all && i + 2 !== all + 1)));
for (const path of recordings) { takeRecording(path); }
// Transcripts shorten messages, so each is played again while the server records the whole messages.
if (recordings.length === 0) {
  const folder = join(root, 'tests/golden/lsp');
  const player = join(dirname(process.env.LOOPSMITH ?? join(root, 'build/release/bin/loopsmith')), 'golden-lsp');
  const records = mkdtempSync(join(tmpdir(), 'loopsmith-transcripts-'));
  try {
    for (const file of readdirSync(folder).filter(name => name.endsWith('.jsonrpc')).sort()) {
      execFileSync(player, [process.env.LOOPSMITH ?? join(dirname(player), 'loopsmith'), root, join(folder, file)],
        { env: { ...process.env, LOOPSMITH_RECORD: records, LOOPSMITH_TEST_CORE: '1', TZ: 'UTC' }, stdio: ['ignore', 'ignore', 'inherit'] });
    }
    for (const file of readdirSync(records).sort()) { takeRecording(join(records, file)); }
  } finally {
    rmSync(records, { recursive: true, force: true });
  }
}
if (recordings.length === 0 && process.env.LOOPSMITH_SESSIONS_PROGRAM) {
  const records = mkdtempSync(join(tmpdir(), 'loopsmith-sessions-'));
  const before = recorded;
  try {
    execFileSync(process.env.LOOPSMITH_SESSIONS_PROGRAM, ['random sessions*'], { env: { ...process.env, LOOPSMITH_RECORD: records, LOOPSMITH_SEED: '1000', LOOPSMITH_SESSIONS: '3' }, stdio: ['ignore', 'ignore', 'inherit'] });
    for (const file of readdirSync(records).sort()) { takeRecording(join(records, file)); }
    if (recorded - before < 500) { failures.push(`only ${recorded - before} messages of random sessions were recorded`); }
  } finally {
    rmSync(records, { recursive: true, force: true });
  }
}
// Links contain the path of the source tree, so transcripts have none; a requested edit needs a finished job;
// instructions depend on the machine. The recordings of the editors' sessions contain these.
const elsewhere = new Set(['textDocument/documentLink', 'workspace/executeCommand', 'textDocument/implementation']);
const excepted = all < 0 ? elsewhere : new Set(process.argv[all + 1].split(','));
for (const row of recordings.length > 0 && all < 0 ? [] : readFileSync(join(root, 'lsp/protocol/methods.def'), 'utf8').matchAll(/^METHOD\(\w+, "([^"]+)", Request/gm)) {
  if (!answered.has(row[1]) && !excepted.has(row[1])) { failures.push(`methods.def: no ${all < 0 ? 'transcript' : 'recording'} has an answer to \`${row[1]}\``); }
  if (all >= 0 && answered.has(row[1]) && excepted.has(row[1])) { failures.push(`methods.def: a recording has an answer to \`${row[1]}\`, which the table lists as unused`); }
}

for (const of of recordings.length > 0 ? [] : Object.keys(pieces)) {
  if (!cut.has(of)) { failures.push(`no transcript has an answer to \`${of}\` in pieces`); }
}

const work = mkdtempSync(join(extension, 'node_modules/.protocol-'));
try {
  const source = join(work, 'messages.ts');
  writeFileSync(source, lines.join('\n') + '\n');
  try {
    execFileSync(process.execPath, [join(extension, 'node_modules/typescript/bin/tsc'), '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2020', '--module', 'commonjs',
      '--moduleResolution', 'node', source], { cwd: extension, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28 });
  } catch (error) {
    for (const line of String(error.stdout).split('\n')) {
      const at = /messages\.ts\((\d+),\d+\): error (.*)/.exec(line);
      if (at) { failures.push(`${origin[Number(at[1])]}: ${at[2]}`); } else if (line.trim() && failures.length > 0) { failures[failures.length - 1] += `\n    ${line.trim()}`; }
    }
    if (failures.length === 0) { failures.push(String(error.stdout) + String(error.stderr)); }
  }
} finally {
  if (!process.argv.includes('--keep')) { rmSync(work, { recursive: true, force: true }); }
}
if (recordings.length > 0 ? count === 0 : count < 100) { failures.push(`only ${count} messages were found`); }
for (const failure of failures) { console.log(`FAIL ${failure}`); }
if (failures.length > 0) { process.exit(1); }
console.log(`ok   ${count} messages of ${answered.size} methods fit the protocol's types${recorded > 0 ? `; those that stand for ${recorded} recorded ones are among them` : ''}`);
