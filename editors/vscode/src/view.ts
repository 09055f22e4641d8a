// The IR beside a schedule: a read-only document that shows the program as it is after the statement at the cursor, with
// the lines which that statement changed marked. The server prints it (`loopsmith/ir`); nothing is computed here.
import * as vscode from 'vscode';
import { LanguageClient } from 'vscode-languageclient/node';

interface Answer {
  uri: string;
  title: string;
  text: string;
  changed: { startLine: number; endLine: number }[];
  isBehind: boolean;
}

const scheme = 'loopsmith-ir';
// Long enough for keys that repeat, short enough to feel like the same moment.
const followDelayMs = 40;

export class IrView implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changedEmitter = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changedEmitter.event;
  private readonly texts = new Map<string, Answer>();
  private readonly mark = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('diffEditor.insertedLineBackground'),
    overviewRulerColor: new vscode.ThemeColor('editorGutter.addedBackground'),
  });
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly client: () => LanguageClient | undefined) {
    this.subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider(scheme, this),
      vscode.commands.registerCommand('loopsmith.showIr', (place?: { uri: string; position: { line: number; character: number } }) => this.show(place)),
      vscode.window.onDidChangeTextEditorSelection((event) => this.follow(event.textEditor)),
      vscode.workspace.onDidChangeTextDocument((event) => {
        const editor = vscode.window.visibleTextEditors.find((candidate) => candidate.document === event.document);
        if (editor) { this.follow(editor); }
        if (event.document.uri.scheme === scheme) { this.paint(event.document.uri); }
      }),
      vscode.window.onDidChangeVisibleTextEditors((editors) => { for (const editor of editors) { this.paint(editor.document.uri); } }),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) { subscription.dispose(); }
    this.mark.dispose();
    this.changedEmitter.dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const answer = this.texts.get(uri.toString());
    return answer ? `# ${answer.title}\n${answer.text}\n` : '# nothing to show here\n';
  }

  /// One view for a text, whatever the statement: so that it stays where the user put it.
  private static viewOf(document: vscode.TextDocument): vscode.Uri {
    return vscode.Uri.from({ scheme, path: `${document.uri.path}.ir.tir` });
  }

  private async show(place?: { uri: string; position: { line: number; character: number } }): Promise<void> {
    const editor = place
      ? vscode.window.visibleTextEditors.find((candidate) => candidate.document.uri.toString() === vscode.Uri.parse(place.uri).toString())
      : vscode.window.activeTextEditor;
    if (!editor) { return; }
    const position = place ? new vscode.Position(place.position.line, place.position.character) : editor.selection.active;
    const uri = IrView.viewOf(editor.document);
    if (!await this.update(editor.document, position)) {
      void vscode.window.showInformationMessage('There is no program here to show.');
      return;
    }
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.languages.setTextDocumentLanguage(document, 'tirscript');
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false });
    this.paint(uri);
  }

  private follow(editor: vscode.TextEditor): void {
    if (!this.texts.has(IrView.viewOf(editor.document).toString())) { return; }
    if (!vscode.workspace.getConfiguration('loopsmith').get<boolean>('ir.follow', true)) { return; }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.update(editor.document, editor.selection.active), followDelayMs);
  }

  private async update(document: vscode.TextDocument, position: vscode.Position): Promise<boolean> {
    const client = this.client();
    if (!client) { return false; }
    // An answer about a text that has changed meanwhile is an error; the change asks again.
    const answer = await client.sendRequest<Answer | null>('loopsmith/ir', {
      textDocument: { uri: client.code2ProtocolConverter.asUri(document.uri) }, position,
    }).catch(() => undefined);
    if (!answer) { return false; }
    const uri = IrView.viewOf(document);
    this.texts.set(uri.toString(), answer);
    this.changedEmitter.fire(uri);
    return true;
  }

  private paint(uri: vscode.Uri): void {
    const answer = this.texts.get(uri.toString());
    if (!answer) { return; }
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.toString() !== uri.toString()) { continue; }
      const ranges = answer.changed.map(({ startLine, endLine }) => new vscode.Range(startLine + 1, 0, endLine, 0));
      editor.setDecorations(this.mark, ranges);
      if (ranges.length > 0) { editor.revealRange(ranges[0], vscode.TextEditorRevealType.InCenterIfOutsideViewport); }
    }
  }
}
