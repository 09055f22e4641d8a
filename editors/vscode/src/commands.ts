// Commands of the palette that the server carries out for the place of the cursor: a search paused, resumed and stopped, a schedule replayed
// to a statement, the records of a program explained, a report of a fault written.
import * as vscode from 'vscode';
import { LanguageClient } from 'vscode-languageclient/node';

interface Text { title: string; text: string }

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
  return vscode.Disposable.from(
    vscode.commands.registerCommand('loopsmith.pauseTuning', () => ask('loopsmith.tune.pause')),
    vscode.commands.registerCommand('loopsmith.resumeTuning', () => ask('loopsmith.tune.resume')),
    vscode.commands.registerCommand('loopsmith.stopTuning', () => ask('loopsmith.tune.stop')),
    vscode.commands.registerCommand('loopsmith.replayTo', replayTo),
    vscode.commands.registerCommand('loopsmith.explainRecords', explainRecords),
    vscode.commands.registerCommand('loopsmith.reportBundle', reportBundle),
  );
}
