// Commands of the palette that the server carries out for the place of the cursor: a search paused, resumed and stopped, a schedule replayed
// to a statement, the records of a program explained, a report of a fault written.
import * as vscode from 'vscode';
import { LanguageClient } from 'vscode-languageclient/node';

interface Text { title: string; text: string }
interface Field { description: string; default?: unknown; error?: string }
interface Asked { command: string; arguments?: unknown[]; formFields?: Field[]; formAnswers?: unknown[] }

export function registerCommands(client: () => LanguageClient | undefined): vscode.Disposable {
  /// What the server answers, told where the cursor is; undefined: it refused, and said why.
  async function ask<T>(command: string): Promise<T | undefined> {
    const editor = vscode.window.activeTextEditor;
    const server = client();
    if (!server || !editor) { return undefined; }
    const { code2ProtocolConverter: to } = server;
    try {
      return await server.sendRequest<T>('workspace/executeCommand', {
        command, arguments: [{ uri: to.asUri(editor.document.uri), position: to.asPosition(editor.selection.active) }],
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
    const answer = await ask<Text>('loopsmith.db.explain');
    if (answer) { await beside(await vscode.workspace.openTextDocument({ language: 'markdown', content: `# ${answer.title}\n\n${answer.text}` })); }
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
  /// A command whose questions are asked first; what is wrong with an answer is said, and asked again.
  async function tuneWith(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const server = client();
    if (!server || !editor) { return; }
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', editor.document.uri, editor.selection);
    const tune = actions.find((action) => action.command?.command === 'loopsmith.tune')?.command;
    if (!tune) { void vscode.window.showInformationMessage('There is no program at the cursor that could be tuned.'); return; }
    let asked: Asked = { command: tune.command, arguments: tune.arguments };
    for (;;) {
      asked = await server.sendRequest<Asked>('command/resolve', asked);
      if (!asked.formFields?.length) { break; }
      const answers: string[] = [];
      for (const [i, field] of asked.formFields.entries()) {
        const answer = await vscode.window.showInputBox({
          title: `Tune (${i + 1} of ${asked.formFields.length})`, prompt: field.error ? `${field.description}: ${field.error}` : field.description,
          value: String(asked.formAnswers?.[i] ?? field.default ?? ''), ignoreFocusOut: true,
        });
        if (answer === undefined) { return; }
        answers.push(answer);
      }
      asked = { command: asked.command, arguments: asked.arguments, formAnswers: answers };
    }
    await server.sendRequest('workspace/executeCommand', asked).catch((problem: Error) => vscode.window.showErrorMessage(problem.message));
  }
  return vscode.Disposable.from(
    vscode.commands.registerCommand('loopsmith.pauseTuning', () => ask('loopsmith.tune.pause')),
    vscode.commands.registerCommand('loopsmith.resumeTuning', () => ask('loopsmith.tune.resume')),
    vscode.commands.registerCommand('loopsmith.stopTuning', () => ask('loopsmith.tune.stop')),
    vscode.commands.registerCommand('loopsmith.tuneWith', tuneWith),
    vscode.commands.registerCommand('loopsmith.replayTo', replayTo),
    vscode.commands.registerCommand('loopsmith.explainRecords', explainRecords),
    vscode.commands.registerCommand('loopsmith.reportBundle', reportBundle),
  );
}
