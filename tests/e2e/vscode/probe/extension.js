// The common session of all editors (../../session), in VS Code: makes the requests of each step by VS Code's own commands, and
// writes the results as lines of text to $ANSWERS. ../../session/steps.mjs checks the results.
const vscode = require('vscode');
const { execFileSync } = require('node:child_process');
const { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');

const run = (command, ...args) => vscode.commands.executeCommand(command, ...args);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const patience = 60_000;

let document;
const text = () => document.getText();
const folder = () => vscode.workspace.workspaceFolders[0].uri.fsPath;

function place(step, at) {
  const lines = text().split('\n');
  const line = step.last ? lines.findLastIndex((one) => one.includes(at[0])) : lines.findIndex((one) => one.includes(at[0]));
  if (line < 0) { throw new Error(`no line has ${at[0]}`); }
  if (step.below) { return new vscode.Position(line + step.below, 0); }
  const column = lines[line].indexOf(at[1]);
  if (column < 0) { throw new Error(`that line has no ${at[1]}`); }
  return new vscode.Position(line, column + (at[2] ?? 0));
}
const base = (uri) => decodeURIComponent(uri.toString()).replace(/^.*\//, '');
const firstLine = (of, range) => of.getText(range).split('\n')[0];
const split = (value) => value.split('\n').filter((line) => line !== '');

async function locations(found) {
  const out = [];
  for (const one of found) {
    const [uri, range] = [one.uri ?? one.targetUri, one.range ?? one.targetSelectionRange ?? one.targetRange];
    // A file that was not open is not opened.
    const isOpen = uri.scheme !== 'file' || vscode.workspace.textDocuments.some((each) => each.uri.toString() === uri.toString());
    const line = isOpen ? firstLine(await vscode.workspace.openTextDocument(uri), range)
      : readFileSync(uri.fsPath, 'utf8').split('\n')[range.start.line].slice(range.start.character, range.isSingleLine ? range.end.character : undefined);
    out.push(`${base(uri)}:${range.start.line + 1}: ${line}`);
  }
  return out;
}

// The changed lines: those of both texts without their longest common subsequence.
function difference(before, after) {
  const [a, b] = [before.split('\n'), after.split('\n')];
  const common = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; --i) {
    for (let j = b.length - 1; j >= 0; --j) { common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]); }
  }
  const [out, added] = [[], []];
  const flush = () => { out.push(...added.splice(0)); };
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) { flush(); ++i; ++j; }
    else if (i < a.length && (j === b.length || common[i + 1][j] >= common[i][j + 1])) { out.push(`-${a[i++]}`); }
    else { added.push(`+${b[j++]}`); }
  }
  flush();
  return out;
}

/// Executes an action as the editor does; one undo reverts it.
async function carriedOut(change) {
  const before = text();
  await vscode.window.showTextDocument(document);
  await change();
  for (const end = Date.now() + 20_000; text() === before;) {
    if (Date.now() > end) { return ['nothing changed']; }
    await sleep(50);
  }
  const out = difference(before, text());
  await run('undo');
  for (const end = Date.now() + 2000; text() !== before && Date.now() < end;) { await sleep(50); }
  if (text() !== before) { out.push('one undo does not take it back'); }
  return out;
}
async function applyEdits(edits) {
  if (!edits?.length) { return []; }
  const edit = new vscode.WorkspaceEdit();
  edit.set(document.uri, edits);
  return carriedOut(() => vscode.workspace.applyEdit(edit));
}

const actionsAt = (step) => {
  const from = place(step, step.at);
  return run('vscode.executeCodeActionProvider', document.uri, new vscode.Range(from, step.to ? place(step, step.to) : from), undefined, 100);
};
async function lensTitles() {
  const lenses = await run('vscode.executeCodeLensProvider', document.uri, 100);
  return lenses.filter((lens) => lens.command).map((lens) => ({
    line: lens.range.start.line + 1, command: lens.command,
    title: lens.command.title.replace(/[\d.]+ [mu]?s\b/g, 'TIME').replace(/[\d.]+x/g, 'Nx'),
  }));
}
async function waitForLens(pattern) {
  for (const end = Date.now() + patience; Date.now() < end; await sleep(200)) {
    const found = (await lensTitles()).find((lens) => lens.title.includes(pattern));
    if (found) { return found; }
  }
  return undefined;
}
/// The lens with the result of a search; undefined: the search found nothing, and the lens that starts one is back.
async function endOfSearch(result, start) {
  let isRunning = false;
  for (const end = Date.now() + patience; Date.now() < end; await sleep(200)) {
    const lenses = await lensTitles();
    const found = lenses.find((lens) => lens.title.includes(result));
    if (found) { return found; }
    const stands = lenses.some((lens) => lens.title.includes(start));
    if (isRunning && stands) { return undefined; }
    isRunning ||= !stands;
  }
  return undefined;
}
async function tokens(command, legendCommand, line, ...args) {
  const legend = await run(legendCommand, document.uri, ...args);
  const { data } = await run(command, document.uri, ...args);
  const out = [];
  for (let i = 0, at = 0, column = 0; i < data.length; i += 5) {
    column = data[i] === 0 ? column + data[i + 1] : data[i + 1];
    at += data[i];
    if (at !== line) { continue; }
    const modifiers = legend.tokenModifiers.filter((_, bit) => data[i + 4] & (1 << bit));
    out.push(`${document.lineAt(at).text.substring(column, column + data[i + 2])} ${[legend.tokenTypes[data[i + 3]], ...modifiers].join('.')}`);
  }
  return out;
}
async function itemsAt(step) {
  const list = await run('vscode.executeCompletionItemProvider', document.uri, place(step, step.at), undefined, step.label ? 200 : 0);
  // Other extensions offer words and snippets for some languages; the server's items have a sort order.
  return list.items.filter((item) => /^\d{4}$/.test(item.sortText ?? '')).sort((a, b) => (a.sortText < b.sortText ? -1 : 1));
}
async function calls(step, command, key) {
  const [item] = await run('vscode.prepareCallHierarchy', document.uri, place(step, step.at));
  return (await run(command, item)).map((call) => `${call[key].name}, ${call.fromRanges.length} place${call.fromRanges.length === 1 ? '' : 's'}`);
}
/// The recordings of the session: a restarted server writes a new one.
const recordings = () => {
  const out = [];
  for (let path = process.env.RECORD; existsSync(path); path += '.next') { out.push(path); }
  return out;
};
const labelOf = (item) => (typeof item.label === 'string' ? item.label : item.label.label);
const markdown = (content) => (typeof content === 'string' ? content : content?.value ?? '');
const severities = ['error', 'warning', 'information', 'hint'];
const style = { tabSize: 4, insertSpaces: true };

const verbs = {
  diagnostics: () => vscode.languages.getDiagnostics(document.uri).filter((d) => d.source === 'loopsmith')
    .sort((a, b) => a.range.start.line - b.range.start.line || (a.message < b.message ? -1 : 1)).flatMap((d) => [
      `${d.range.start.line + 1}: ${severities[d.severity]}: ${d.message} [${d.code?.value ?? d.code}]`,
      ...(d.relatedInformation ?? []).map((one) => `  ${one.location.range.start.line + 1}: ${one.message}`),
      ...(d.tags?.includes(vscode.DiagnosticTag.Unnecessary) ? ['  unnecessary'] : []),
    ]),
  codeLinks: () => vscode.languages.getDiagnostics(document.uri).map((d) => (d.code?.target ? base(d.code.target) : 'no link')),
  hover: async (step) => (await run('vscode.executeHoverProvider', document.uri, place(step, step.at))).flatMap((one) => one.contents).flatMap((one) => split(markdown(one).replace(/\]\([^)]*\//g, ']('))),
  hints: async () => (await run('vscode.executeInlayHintProvider', document.uri, new vscode.Range(0, 0, document.lineCount, 0)))
    .map((hint) => `${hint.position.line + 1}: ${typeof hint.label === 'string' ? hint.label : hint.label.map((part) => part.value).join('')}`),
  replayMarks: async () => {
    const { exports } = vscode.extensions.all.find((one) => one.isActive && one.exports?.replayMarks);
    // Notifications of a change arrive a moment after it.
    for (const end = Date.now() + 10_000; exports.replayMarks(document.uri).length === 0 && Date.now() < end;) { await sleep(50); }
    return exports.replayMarks(document.uri);
  },
  lenses: async () => (await lensTitles()).map((lens) => `${lens.line}: ${lens.title}`),
  declaration: async (step) => locations(await run('vscode.executeDeclarationProvider', document.uri, place(step, step.at))),
  definition: async (step) => locations(await run('vscode.executeDefinitionProvider', document.uri, place(step, step.at))),
  typeDefinition: async (step) => locations(await run('vscode.executeTypeDefinitionProvider', document.uri, place(step, step.at))),
  implementation: async (step) => {
    // Instructions differ between machines, so only their presence and their document are checked.
    const found = await locations(await run('vscode.executeImplementationProvider', document.uri, place(step, step.at)));
    return [`${(found[0] ?? 'none').replace(/:\d+: .*/, '')}, ${found.length > 0 ? 'some' : 'no'} instructions`];
  },
  references: async (step) => locations(await run('vscode.executeReferenceProvider', document.uri, place(step, step.at))),
  highlights: async (step) => (await run('vscode.executeDocumentHighlights', document.uri, place(step, step.at)))
    .map((one) => `${one.range.start.line + 1}: ${one.kind === vscode.DocumentHighlightKind.Write ? 'writes' : 'reads'} ${firstLine(document, one.range)}`),
  symbols: async () => {
    const flat = (symbols, depth) => symbols.flatMap((one) => ['  '.repeat(depth) + one.name, ...flat(one.children ?? [], depth + 1)]);
    return flat(await run('vscode.executeDocumentSymbolProvider', document.uri), 0);
  },
  workspaceSymbols: async (step) => (await run('vscode.executeWorkspaceSymbolProvider', step.query)).map((one) => `${base(one.location.uri)}: ${one.name}`),
  folds: async () => (await run('vscode.executeFoldingRangeProvider', document.uri))
    .map((one) => `${one.start + 1} to ${one.end + 1}${one.kind ? `, ${vscode.FoldingRangeKind[one.kind].toLowerCase()}` : ''}`).sort(),
  selections: async (step) => {
    const out = [];
    for (let [one] = await run('vscode.executeSelectionRangeProvider', document.uri, [place(step, step.at)]); one; one = one.parent) {
      out.push(`${one.range.start.line + 1}:${one.range.start.character + 1} to ${one.range.end.line + 1}:${one.range.end.character + 1}`);
    }
    // VS Code inserts words and lines between those of the server.
    return out.filter((one) => step.answer.includes(one));
  },
  tokens: (step) => tokens('vscode.provideDocumentSemanticTokens', 'vscode.provideDocumentSemanticTokensLegend', place(step, step.at).line),
  tokensRange: (step) => {
    const { line } = place(step, step.at);
    return tokens('vscode.provideDocumentRangeSemanticTokens', 'vscode.provideDocumentRangeSemanticTokensLegend', line, new vscode.Range(line, 0, line + 1, 0));
  },
  incoming: (step) => calls(step, 'vscode.provideIncomingCalls', 'from'),
  outgoing: (step) => calls(step, 'vscode.provideOutgoingCalls', 'to'),
  signature: async (step) => {
    const help = await run('vscode.executeSignatureHelpProvider', document.uri, place(step, step.at));
    if (!help?.signatures.length) { return []; }
    const [signature] = help.signatures;
    const active = signature.parameters[help.activeParameter ?? 0];
    const label = typeof active.label === 'string' ? active.label : signature.label.substring(...active.label);
    return [signature.label, `${label}: ${markdown(active.documentation)}`];
  },
  actions: async (step) => (await actionsAt(step)).map((one) => `${one.title}${one.isPreferred ? ' (preferred)' : ''}${one.disabled ? ` (not here: ${one.disabled.reason})` : ''}`),
  act: async (step) => {
    // Schedules may still be running.
    const meant = (one) => (step.title === '*' ? one.isPreferred : one.title.includes(step.title) && !one.disabled);
    let action;
    for (const end = Date.now() + patience; !action && Date.now() < end; action ??= await sleep(200)) { action = (await actionsAt(step)).find(meant); }
    if (!action) { return ['not offered']; }
    return [action.title, ...await carriedOut(async () => {
      if (action.edit) { await vscode.workspace.applyEdit(action.edit); }
      if (action.command) { await run(action.command.command, ...action.command.arguments ?? []); }
    })];
  },
  rename: async (step) => {
    let edit;
    try { edit = await run('vscode.executeDocumentRenameProvider', document.uri, place(step, step.at), step.name); } catch (problem) { return [problem.message]; }
    return carriedOut(() => vscode.workspace.applyEdit(edit));
  },
  edit: async (step) => {
    const from = text().indexOf(step.old);
    if (from < 0) { throw new Error(`the text has no ${step.old}`); }
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, new vscode.Range(document.positionAt(from), document.positionAt(from + step.old.length)), step.text);
    await vscode.workspace.applyEdit(edit);
    return [];
  },
  completion: async (step) => (await itemsAt(step)).slice(0, step.count).map((item) =>
    `${labelOf(item)}${item.detail ? `: ${item.detail}` : ''}${step.only === ' snippet' && item.insertText instanceof vscode.SnippetString ? ' snippet' : ''}`),
  // The text that an item inserts, with placeholders such as `${1:loop}`.
  inserted: async (step) => {
    const { insertText } = (await itemsAt(step)).find((item) => labelOf(item) === step.label) ?? {};
    return [insertText instanceof vscode.SnippetString ? insertText.value : insertText ?? 'not offered'];
  },
  preview: async (step) => split(markdown((await itemsAt(step)).find((item) => labelOf(item) === step.label)?.documentation)),
  links: async () => (await run('vscode.executeLinkProvider', document.uri, 100)).map((link) => `${link.range.start.line + 1}: ${firstLine(document, link.range)} -> ${base(link.target)}`),
  format: async () => applyEdits(await run('vscode.executeFormatDocumentProvider', document.uri, style)),
  formatRange: async (step) => {
    const { line } = place(step, step.at);
    return applyEdits(await run('vscode.executeFormatRangeProvider', document.uri, document.lineAt(line).range, style));
  },
  formatRanges: async (step) => {
    const { activeTextEditor } = vscode.window;
    activeTextEditor.selections = step.ats.map((at) => {
      const { range } = document.lineAt(place(step, at).line);
      return new vscode.Selection(range.start, range.end);
    });
    return carriedOut(() => run('editor.action.formatSelection'));
  },
  formatOnType: async (step) => applyEdits(await run('vscode.executeFormatOnTypeProvider', document.uri, new vscode.Position(place(step, step.at).line, 0), '\n', style)),
  configure: async (step) => {
    const path = join(folder(), '.vscode/settings.json');
    const settings = JSON.parse(readFileSync(path, 'utf8'));
    for (const [name, value] of Object.entries(step.settings)) { settings[`loopsmith.${name}`] = value; }
    writeFileSync(path, JSON.stringify(settings));
    for (const end = Date.now() + patience; Date.now() < end; await sleep(100)) {
      const now = vscode.workspace.getConfiguration('loopsmith');
      if (Object.entries(step.settings).every(([name, value]) => JSON.stringify(now.get(name)) === JSON.stringify(value))) { return []; }
    }
    return ['the settings were not read'];
  },
  command: async (step) => {
    await run(step.command, { uri: document.uri.toString(), function: step.function, schedule: step.schedule });
    const lens = await waitForLens(step.lens);
    return [lens ? `${lens.line}: ${lens.title}` : 'it did not end'];
  },
  // A REPL that an editor starts sees unsaved text.
  repl: async (step) => {
    const { command } = await run('loopsmith.attachRepl', { uri: document.uri.toString() });
    // The mirror is updated a moment after the text.
    for (const end = Date.now() + 10_000;; await sleep(100)) {
      const said = split(execFileSync(command[0], [...command.slice(1), '-c', step.line], { encoding: 'utf8' })).filter((line) => line.includes(step.has));
      if (said.length > 0 || Date.now() > end) { return said; }
    }
  },
  // The text of the command has a line for each open file.
  memory: async (step) => {
    await vscode.commands.executeCommand('loopsmith.showMemory');
    const lines = split(vscode.window.activeTextEditor.document.getText());
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    return lines.filter((line) => line.includes(step.has)).map((line) => line.replace(/^ *[\d.]+ \w+ +/, '').replace(/\S*\//, ''));
  },
  // A search for a hole in a schedule, started and inserted by the lens over it. Beside a busy program a search of few trials may find nothing faster: then it is repeated.
  fill: async () => {
    const begins = await waitForLens('tune this');
    if (!begins) { return ['there is nothing to fill']; }
    let done;
    for (let search = 0; !done && search < 5; ++search) {
      await run(begins.command.command, ...begins.command.arguments);
      done = await endOfSearch('fill in the best steps', begins.title);
    }
    if (!done) { return [begins.title, 'it did not end']; }
    await run(done.command.command, ...done.command.arguments);
    for (const end = Date.now() + 20_000; text().includes('sch.tune(') && Date.now() < end;) { await sleep(50); }
    return [begins.title, text().includes('sch.tune(') ? 'nothing was written' : done.title];
  },
  // The server's trace, which the setting turns on: it is shown in the output channel, and contained in the recording of the session.
  trace: async (step) => {
    const heard = () => readFileSync(process.env.RECORD, 'utf8').split('\n').map((line) => /([\w/]+ answered in) [\d.]+ [mun]?s\b/.exec(line)?.[1]).filter((line) => line?.startsWith('textDocument/hover'));
    const hover = () => run('vscode.executeHoverProvider', document.uri, place(step, step.at));
    await verbs.configure({ settings: { 'trace.server': 'messages' } });
    for (const end = Date.now() + patience; heard().length === 0 && Date.now() < end; await sleep(100)) { await hover(); }
    const on = heard().length > 0 ? `${heard()[0]} TIME` : 'nothing was heard';
    await verbs.configure({ settings: { 'trace.server': 'off' } });
    for (const end = Date.now() + patience; Date.now() < end;) {
      const before = heard().length;
      await hover();
      await sleep(200);
      if (heard().length === before) { return [on]; }
    }
    return [on, 'it goes on'];
  },
  // Another program writes the machine's peaks while the editor is open.
  measured: async (step) => {
    const stands = async () => ((await verbs.hover(step)).some((line) => line.includes('roofline: at most')) ? 'under the roofline' : 'no roofline');
    // The peaks may have been measured before, and the server may still use settings that describe another machine.
    const cache = join(process.env.SERVER_CACHE, 'loopsmith');
    for (const file of existsSync(cache) ? readdirSync(cache) : []) { if (file.startsWith('peaks-')) { rmSync(join(cache, file)); } }
    let before = await stands();
    for (const end = Date.now() + 20_000; before !== 'no roofline' && Date.now() < end; await sleep(100)) { before = await stands(); }
    execFileSync(process.env.LOOPSMITH, ['target', 'show'], { env: { ...process.env, XDG_CACHE_HOME: process.env.SERVER_CACHE } });
    let after = await stands();
    for (const end = Date.now() + 20_000; after === before && Date.now() < end; await sleep(100)) { after = await stands(); }
    return [before, after];
  },
  tune: async (step) => {
    await run('loopsmith.tune', { uri: document.uri.toString(), function: step.function, seconds: 300 });
    const running = await waitForLens(', best ');
    if (!running) { return ['no best was told']; }
    // Paused and resumed by the palette: no trial is measured in between.
    await run('loopsmith.pauseTuning');
    const title = async () => (await lensTitles()).find((lens) => lens.title.startsWith('tuning'))?.title ?? 'no search';
    if (!await waitForLens('tuning paused')) { return ['it was not paused']; }
    await sleep(500);
    const before = await title();
    await sleep(500);
    const stood = await title() === before ? 'paused, it stands still' : `paused, it went on: ${before}, ${await title()}`;
    await run('loopsmith.resumeTuning');
    if (!await waitForLens('tuning: ')) { return [stood, 'it did not go on']; }
    const again = await waitForLens('stop and keep the best');
    await run(again.command.command, ...again.command.arguments);
    const done = await waitForLens('insert best schedule');
    return [stood, again.title, done?.title ?? 'it did not end'];
  },
  // The lens of a schedule that samples numbers: its space is searched to the end, and its best is offered.
  searchSpace: async () => {
    const lens = await waitForLens('search this space');
    if (!lens) { return ['there is no such lens']; }
    await run(lens.command.command, ...lens.command.arguments);
    const done = await waitForLens('insert the best of this space');
    return [lens.title, done?.title ?? 'it did not end'];
  },
  // The status of the server, in words common to both editors.
  status: async (step) => {
    const { exports } = vscode.extensions.all.find((one) => one.isActive && one.exports?.status);
    const now = () => (exports.status() === 'Loopsmith (Loopsmith is ready)' ? 'ready' : exports.status().replace(/^\$\(warning\) Loopsmith \((.*)\)$/s, 'warning: $1'));
    for (const end = Date.now() + 10_000; !now().includes(step.has ?? 'ready') && Date.now() < end;) { await sleep(50); }
    return [now()];
  },
  // A schedule that takes long: the marks and the status while it runs, and after it has run.
  slow: async (step) => {
    const { exports } = vscode.extensions.all.find((one) => one.isActive && one.exports?.status);
    const marks = () => exports.replayMarks(document.uri);
    await verbs.edit(step);
    for (const end = Date.now() + patience; !marks().includes(step.mark) && Date.now() < end;) { await sleep(5); }
    const out = [...marks(), exports.status().endsWith('(Loopsmith is at work)') ? 'at work' : exports.status()];
    for (const end = Date.now() + patience; marks().length > 0 && Date.now() < end;) { await sleep(20); }
    return [...out, ...(marks().length === 0 ? await verbs.status({}) : marks())];
  },
  // Another program writes, rewrites or removes a file.
  disk: (step) => {
    if (step.text) { writeFileSync(join(folder(), step.name), step.text); } else { rmSync(join(folder(), step.name)); }
    return [];
  },
  // Renames another file as the editor does; the import in this file follows.
  renameFile: async (step) => {
    const before = text();
    const edit = new vscode.WorkspaceEdit();
    edit.renameFile(vscode.Uri.file(join(folder(), step.from)), vscode.Uri.file(join(folder(), step.to)));
    await vscode.workspace.applyEdit(edit);
    for (const end = Date.now() + 20_000; text() === before && Date.now() < end;) { await sleep(50); }
    return difference(before, text());
  },
  // The edits of a rename in all files; nothing is changed.
  renames: async (step) => {
    let edit;
    try { edit = await run('vscode.executeDocumentRenameProvider', document.uri, place(step, step.at), step.name); } catch (problem) { return [problem.message]; }
    return edit.entries().flatMap(([uri, edits]) => edits.map((one) => `${base(uri)}:${one.range.start.line + 1}: ${one.newText}`)).sort();
  },
  // Switches to pulled diagnostics, or back: the option is one that a server is started with.
  pull: async (step) => {
    const before = recordings().length;
    await verbs.configure({ settings: { pullDiagnostics: step.on } });
    const said = () => (recordings().length > before ? readFileSync(recordings().at(-1), 'utf8') : '');
    const shown = () => vscode.languages.getDiagnostics(document.uri).some((one) => one.source === 'loopsmith');
    for (const end = Date.now() + patience; !(/"textDocument\/(diagnostic|publishDiagnostics)"/.test(said()) && shown()) && Date.now() < end;) { await sleep(50); }
    return [said().includes('"textDocument/diagnostic"') ? 'asked for' : 'not asked for', said().includes('"textDocument/publishDiagnostics"') ? 'sent' : 'not sent'];
  },
  // VS Code requests the diagnostics of all files, and receives them file by file.
  diagnosticPieces: () => {
    const files = new Set();
    for (const line of readFileSync(recordings().at(-1), 'utf8').split('\n')) {
      const message = line && JSON.parse(line).message;
      if (message?.method === '$/progress') { for (const item of message.params.value.items ?? []) { files.add(base(vscode.Uri.parse(item.uri))); } }
    }
    return [...files].sort();
  },
  // Hints about loops are turned on, and off again.
  loopHints: async () => {
    const hints = () => vscode.languages.getDiagnostics(document.uri).filter((one) => ['not-vectorized', 'gathered'].includes(one.code?.value ?? one.code))
      .map((one) => `${one.range.start.line + 1}: ${['error', 'warning', 'information', 'hint'][one.severity]}: ${one.message}`);
    await run('loopsmith.hints.toggle');
    for (const end = Date.now() + 10_000; hints().length === 0 && Date.now() < end;) { await sleep(50); }
    const shown = hints();
    await run('loopsmith.hints.toggle');
    for (const end = Date.now() + 10_000; hints().length > 0 && Date.now() < end;) { await sleep(50); }
    return hints().length > 0 ? [...shown, 'they stay'] : shown;
  },
  // A lens that writes into the text. The exact blank line does not matter.
  writes: async (step) => {
    const lens = await waitForLens(step.lens);
    return lens ? (await carriedOut(() => run(lens.command.command, ...lens.command.arguments))).filter((line) => line !== '+') : ['there is no such lens'];
  },
  // Two states side by side, described by their differences.
  difference: async (step) => {
    const lens = await waitForLens(step.lens);
    if (!lens) { return ['there is no such lens']; }
    await run(lens.command.command, ...lens.command.arguments);
    const states = () => vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    for (const end = Date.now() + 10_000; !states()?.original && Date.now() < end;) { await sleep(50); }
    if (!states()?.original) { return ['nothing was shown']; }
    const out = [];
    for (const uri of [states().original, states().modified]) {
      out.push(`${uri.fragment}, ${(await vscode.workspace.openTextDocument(uri)).getText().includes('i_0') ? 'split' : 'as written'}`);
    }
    await run('workbench.action.closeActiveEditor');
    return out;
  },
  // Shows two schedules side by side at once, and times them in turns.
  compareSchedules: async (step) => {
    const lens = await waitForLens(step.lens);
    if (!lens) { return ['there is no such lens']; }
    void run(lens.command.command, ...lens.command.arguments);
    let shown;
    for (const end = Date.now() + 20_000; !shown && Date.now() < end; await sleep(100)) { shown = vscode.window.visibleTextEditors.find((one) => one.document.languageId === 'markdown'); }
    if (!shown) { return ['nothing was shown']; }
    const out = split(shown.document.getText()).filter((line) => line.includes('statement'));
    await vscode.window.showTextDocument(shown.document, shown.viewColumn);
    await run('workbench.action.revertAndCloseActiveEditor');
    const timed = await waitForLens(`${step.lens}: TIME and TIME`);
    return [...out, timed?.title ?? 'they were not timed'];
  },
  // The server is stopped while it searches, and restarted: the search is paused, and then continues.
  interrupted: async (step) => {
    const { exports } = vscode.extensions.all.find((one) => one.isActive && one.exports?.status);
    await run('loopsmith.tune', { uri: document.uri.toString(), function: step.function, seconds: 300 });
    if (!await waitForLens(', best ')) { return ['no best was told']; }
    const status = exports.status();
    await run('loopsmith.restart');
    const stands = await waitForLens('tuning of an earlier session: trial');
    const out = [new RegExp(`tuning ${step.function}: trial`).exec(status)?.[0] ?? status];
    if (!stands) { return [...out, 'it is forgotten']; }
    out.push(stands.title.replace(/\d+, best.*$/, 'N'));
    await vscode.window.showTextDocument(document);
    await run('loopsmith.resumeTuning');
    out.push(await waitForLens(', best ') ? 'it goes on' : 'it does not go on');
    await run('loopsmith.stopTuning');
    return [...out, (await waitForLens('insert best schedule'))?.title ?? 'it did not end'];
  },
  // A command of the palette for the place of the cursor, which shows a document beside the text: its lines that contain a given text.
  palette: async (step) => {
    const editor = await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
    const at = place(step, step.at);
    editor.selection = new vscode.Selection(at, at);
    await run(step.command);
    let shown;
    for (const end = Date.now() + 20_000; !shown && Date.now() < end; await sleep(100)) {
      shown = vscode.window.visibleTextEditors.find((one) => one.document !== document && one.document.getText().includes(step.has));
    }
    if (!shown) { return ['nothing was shown']; }
    const lines = split(shown.document.getText()).filter((line) => line.includes(step.has)).map((line) => line.trim().replace(/^.* (in the tuning database)/, '$1'));
    await vscode.window.showTextDocument(shown.document, shown.viewColumn);
    await run('workbench.action.revertAndCloseActiveEditor');
    return lines;
  },
};
// Steps that run once: they change something, or wait by themselves.
const once = new Set(['edit', 'slow', 'disk', 'pull', 'act', 'rename', 'configure', 'command', 'palette', 'tune', 'interrupted', 'loopHints', 'difference', 'compareSchedules', 'fill', 'repl', 'trace', 'measured', 'format', 'formatRange', 'formatRanges', 'formatOnType', 'renameFile']);

async function answerTo(step, agree) {
  const file = vscode.Uri.file(join(folder(), step.file ?? 'session.tir'));
  document = await vscode.workspace.openTextDocument(file);
  await vscode.window.showTextDocument(document);
  // An extension is not notified when diagnostics are complete, so it asks again until the answer is right, for as long as a user would wait.
  for (const end = Date.now() + (process.env.LOOPSMITH_UPDATE ? 3000 : 30_000);; await sleep(100)) {
    let answer;
    try { answer = await verbs[step.ask](step); } catch (problem) { answer = split(problem.stack); }
    if (step.only) { answer = answer.filter((line) => line.includes(step.only)); }
    if (step.brief) { answer = answer.filter((line) => !/^[+-]/.test(line)); }
    if (once.has(step.ask) || agree(answer, step.answer) || Date.now() > end) { return answer; }
  }
}

exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand('loopsmithProbe.run', async () => {
    const answers = [];
    const { agree } = await import(join(dirname(process.env.STEPS), 'answers.mjs'));
    for (const step of JSON.parse(readFileSync(process.env.STEPS, 'utf8'))) {
      const isOurs = !step.editors || step.editors.includes('VS Code');
      const begin = Date.now();
      answers.push({ answer: isOurs ? await answerTo(step, agree) : [], milliseconds: Date.now() - begin });
    }
    writeFileSync(process.env.ANSWERS, JSON.stringify(answers));
  }));
};
