#!/usr/bin/env node
// Every message in tests/golden/lsp that the server sends, checked against the protocol's official types: each becomes a typed literal in a
// TypeScript file, and the compiler says what is missing, unknown or of another type. Every standard request that the server knows has to
// occur with an answer. The types come with the VS Code extension's own dependencies.
//   run.mjs [--keep]     LOOPSMITH_UPDATE has no meaning here: the transcripts are what golden/lsp compares exactly
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const extension = join(root, 'editors/vscode');
if (!existsSync(join(extension, 'node_modules/vscode-languageclient'))) {
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: extension, stdio: ['ignore', 'ignore', 'inherit'] });
}

// What each method's result is; methods of our own and of 3.18 are written out.
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
  'textDocument/onTypeFormatting': 'P.TextEdit[] | null',
  'textDocument/definition': 'P.Location | null',
  'textDocument/references': 'P.Location[] | null',
  'textDocument/documentHighlight': 'P.DocumentHighlight[] | null',
  'textDocument/prepareRename': '{ range: P.Range; placeholder: string } | null',
  'textDocument/rename': 'P.WorkspaceEdit | null',
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
  'loopsmith/waitForState': '{ uri: string; version: number; state: "done" | "crashed" }',
  'loopsmith/ir': 'P.LSPAny',
  'loopsmith/loops': '{ title: string; function: string; nodes: { place: number; depth: number; kind: "block" | "serial" | "parallel" | "vectorized" | "unrolled" | "bound"; text: string; name: string; facts: string; range?: P.Range }[] } | null',
  'loopsmith/moves': '{ title: string; edit?: P.WorkspaceEdit; reason?: string }[]',
};
const sent = {
  'textDocument/publishDiagnostics': 'P.PublishDiagnosticsParams',
  'window/logMessage': 'P.LogMessageParams',
  'window/showMessage': 'P.ShowMessageParams',
  'window/workDoneProgress/create': 'P.WorkDoneProgressCreateParams',
  'workspace/applyEdit': 'P.ApplyWorkspaceEditParams',
  'workspace/codeLens/refresh': 'null',
  '$/progress': 'P.ProgressParams<P.WorkDoneProgressBegin | P.WorkDoneProgressReport | P.WorkDoneProgressEnd>',
  '$/logTrace': 'P.LogTraceParams',
};

const lines = ["import * as P from 'vscode-languageserver-protocol';", '// 3.18 has what the types of 3.17 lack.',
  'type Initialized = P.InitializeResult & { capabilities: { workspace?: { textDocumentContent?: { schemes: string[] } } } };'];
const origin = [];
const answered = new Set();
let count = 0;
const failures = [];
const folder = join(root, 'tests/golden/lsp');
for (const file of readdirSync(folder).filter(name => name.endsWith('.jsonrpc')).sort()) {
  const methods = new Map();
  readFileSync(join(folder, file), 'utf8').split('\n').forEach((text, i) => {
    const where = `${file}:${i + 1}`;
    if (text.startsWith('--> {')) {
      const message = JSON.parse(text.slice(4));
      if ('id' in message && message.method) { methods.set(JSON.stringify(message.id), message.method); }
      return;
    }
    if (!text.startsWith('<-- ')) { return; }
    const message = JSON.parse(text.slice(4));
    const add = (type, value) => {
      lines.push(`{ const message: ${type} = ${JSON.stringify(value)}; void message; }`);
      origin[lines.length] = where;
      ++count;
    };
    if (message.method) {
      if (!(message.method in sent)) { failures.push(`${where}: the server sends \`${message.method}\`, of which nothing is known here`); return; }
      add(sent[message.method], message.params ?? null);
    } else if (message.error) {
      add('{ code: number; message: string; data?: P.LSPAny }', message.error);
    } else {
      if (!('result' in message) || !('id' in message)) { failures.push(`${where}: an answer has \`id\` and \`result\``); return; }
      const method = methods.get(JSON.stringify(message.id));
      if (!(method in results)) { failures.push(`${where}: an answer to \`${method}\`, of which nothing is known here`); return; }
      if (method === 'initialize' && message.result.capabilities === 'CAPABILITIES') { return; }
      if (message.result !== null || results[method] === 'null') { answered.add(method); }
      add(method === 'initialize' ? 'Initialized' : results[method], message.result);
    }
  });
}
// Links lead into the tree they were built in, so no transcript holds one; an edit that is asked for needs a job that ended.
const elsewhere = new Set(['textDocument/documentLink', 'workspace/executeCommand']);
for (const row of readFileSync(join(root, 'lsp/protocol/methods.def'), 'utf8').matchAll(/^METHOD\(\w+, "([^"]+)", Request/gm)) {
  if (!answered.has(row[1]) && !elsewhere.has(row[1])) { failures.push(`methods.def: no transcript has an answer to \`${row[1]}\``); }
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
if (count < 100) { failures.push(`only ${count} messages were found`); }
for (const failure of failures) { console.log(`FAIL ${failure}`); }
if (failures.length > 0) { process.exit(1); }
console.log(`ok   ${count} messages of ${answered.size} methods fit the protocol's types`);
