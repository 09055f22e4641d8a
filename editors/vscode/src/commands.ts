// Commands of the palette and of lenses that the server carries out for the place of the cursor: pause, resume and stop a search, replay a
// schedule to a statement, explain the records and the history of a program, compare two schedules, split a loop, write a report of a fault.
import * as vscode from 'vscode';
import { LanguageClient } from 'vscode-languageclient/node';

interface Text { title: string; text: string }
interface Field { description: string; default?: unknown; error?: string }
/// The subject of a lens, in place of the cursor.
interface About { uri: string; function?: string; schedule?: string; other?: string }
interface Asked { command: string; arguments?: unknown[]; formFields?: Field[]; formAnswers?: unknown[] }

/// Asks the questions of a command; repeats a question, with the reason, after a wrong answer. Undefined if the user gives up.
export async function answered(server: LanguageClient, command: string, args: unknown[] | undefined, title: string): Promise<Asked | undefined> {
  let asked: Asked = { command, arguments: args };
  for (;;) {
    asked = await server.sendRequest<Asked>('command/resolve', asked);
    if (!asked.formFields?.length) { return asked; }
    const answers: string[] = [];
    for (const [i, field] of asked.formFields.entries()) {
      const answer = await vscode.window.showInputBox({
        title: asked.formFields.length > 1 ? `${title} (${i + 1} of ${asked.formFields.length})` : title, prompt: field.error ? `${field.description}: ${field.error}` : field.description,
        value: String(asked.formAnswers?.[i] ?? field.default ?? ''), ignoreFocusOut: true,
      });
      if (answer === undefined) { return undefined; }
      answers.push(answer);
    }
    asked = { command: asked.command, arguments: asked.arguments, formAnswers: answers };
  }
}

/// Before the first command that runs a program whose shapes have variables: asks for their sizes, which the server keeps. False if the user gives up.
export async function knowsSizes(server: LanguageClient, command: string, args: unknown[] | undefined): Promise<boolean> {
  const about = args?.[0] as { uri?: string; function?: string; sizes?: string[] } | undefined;
  if (!about?.sizes?.length || command === 'loopsmith.sizes') { return true; }
  const asked = await answered(server, 'loopsmith.sizes', [{ uri: about.uri, function: about.function, sizes: about.sizes }], 'Sizes');
  if (asked?.formAnswers) { await server.sendRequest('workspace/executeCommand', asked); }
  return asked !== undefined;
}

/// `needed`: the server; reports a missing server.
export function registerCommands(needed: () => LanguageClient | undefined): vscode.Disposable {
  /// The server's answer for the place of the cursor, or for the subject of a lens; undefined if it refused, which is shown.
  async function ask<T>(command: string, about?: About): Promise<T | undefined> {
    const editor = vscode.window.activeTextEditor;
    const server = needed();
    if (!server) { return undefined; }
    if (!editor && !about) {
      void vscode.window.showInformationMessage('Put the cursor into a program or a schedule first: this command is about the one there.');
      return undefined;
    }
    const { code2ProtocolConverter: to } = server;
    try {
      return await server.sendRequest<T>('workspace/executeCommand', {
        command, arguments: [about ?? { uri: to.asUri(editor!.document.uri), position: to.asPosition(editor!.selection.active) }],
      });
    } catch (problem) {
      void vscode.window.showErrorMessage(problem instanceof Error ? problem.message : String(problem));
      return undefined;
    }
  }
  async function beside(document: vscode.TextDocument): Promise<void> {
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true });
  }
  async function replayTo(): Promise<void> {
    const view = await ask<{ uri: string }>('loopsmith.replay.to');
    if (view) { await beside(await vscode.workspace.openTextDocument(vscode.Uri.parse(view.uri))); }
  }
  async function explainRecords(): Promise<void> {
    await showText(await ask<Text>('loopsmith.db.explain'));
  }
  async function reportBundle(): Promise<void> {
    const answer = await ask<{ path: string }>('loopsmith.report.bundle');
    if (!answer) { return; }
    await beside(await vscode.workspace.openTextDocument(vscode.Uri.joinPath(vscode.Uri.file(answer.path), 'README.md')));
    const open = 'Open Folder';
    void vscode.window.showInformationMessage(`A report is in ${answer.path}`, open).then((choice) => {
      if (choice === open) { void vscode.commands.executeCommand('revealFileInOS', vscode.Uri.file(answer.path)); }
    });
  }
  // Documents of a scheme of their own cannot be edited, and closing one does not ask to save it.
  const texts = new Map<string, string>();
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const provider = vscode.workspace.registerTextDocumentContentProvider('loopsmith-text', { onDidChange: changed.event, provideTextDocumentContent: (uri) => texts.get(uri.toString()) ?? '' });
  const closed = vscode.workspace.onDidCloseTextDocument((document) => texts.delete(document.uri.toString()));
  async function showText(answer: Text | undefined): Promise<void> {
    if (!answer) { return; }
    const uri = vscode.Uri.from({ scheme: 'loopsmith-text', path: `/${answer.title.replace(/[^\w.-]+/g, ' ')}.md` });
    texts.set(uri.toString(), `# ${answer.title}\n\n${answer.text}`);
    changed.fire(uri);
    await beside(await vscode.languages.setTextDocumentLanguage(await vscode.workspace.openTextDocument(uri), 'markdown'));
  }
  /// Compares statement by statement at once; the times follow in a message and in the lens.
  async function showComparison(about?: About): Promise<void> {
    if (!about) { return; }
    await showText(await ask<Text>('loopsmith.schedules.compare', about));
    await ask('loopsmith.bench', about);
  }
  /// Finds the action at the cursor with this command, asks its questions and carries it out.
  async function withAnswers(command: string, title: string, missing: string): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const server = needed();
    if (!server) { return; }
    if (!editor) { void vscode.window.showInformationMessage(missing); return; }
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', editor.document.uri, editor.selection);
    const found = actions.find((action) => action.command?.command === command)?.command;
    if (!found) { void vscode.window.showInformationMessage(missing); return; }
    if (!await knowsSizes(server, found.command, found.arguments)) { return; }
    const asked = await answered(server, found.command, found.arguments, title);
    if (asked) { await server.sendRequest('workspace/executeCommand', asked).catch((problem: Error) => vscode.window.showErrorMessage(problem.message)); }
  }
  return vscode.Disposable.from(
    provider, changed, closed,
    vscode.commands.registerCommand('loopsmith.pauseTuning', () => ask('loopsmith.tune.pause')),
    vscode.commands.registerCommand('loopsmith.resumeTuning', () => ask('loopsmith.tune.resume')),
    vscode.commands.registerCommand('loopsmith.stopTuning', () => ask('loopsmith.tune.stop')),
    vscode.commands.registerCommand('loopsmith.tuneWith', () => withAnswers('loopsmith.tune', 'Tune', 'There is no program at the cursor that could be tuned.')),
    vscode.commands.registerCommand('loopsmith.splitLoop', () => withAnswers('loopsmith.split', 'Split', 'There is no loop at the cursor that could be split.')),
    vscode.commands.registerCommand('loopsmith.showHistory', async (about?: About) => showText(await ask<Text>('loopsmith.db.history', about))),
    vscode.commands.registerCommand('loopsmith.showComparison', showComparison),
    vscode.commands.registerCommand('loopsmith.replayTo', replayTo),
    vscode.commands.registerCommand('loopsmith.explainRecords', explainRecords),
    vscode.commands.registerCommand('loopsmith.reportBundle', reportBundle),
  );
}
