// Bars in the gutter beside the statements of schedules: not run since a change (grey), running (orange), failed (red). The server sends them in
// `loopsmith/replayProgress`, during a long replay and at its end.
import * as vscode from 'vscode';
import { LanguageClient } from 'vscode-languageclient/node';

type MarkState = 'stale' | 'running' | 'failed';
interface Progress {
  uri: string;
  version: number;
  marks: { range: { start: { line: number }; end: { line: number } }; state: MarkState }[];
}

const colours: Record<MarkState, string> = { stale: '#8a8a8a', running: '#e08a00', failed: '#d43a3a' };

function bar(colour: string): vscode.Uri {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><rect x="6" y="0" width="3" height="16" fill="${colour}"/></svg>`;
  return vscode.Uri.parse(`data:image/svg+xml;utf8,${encodeURIComponent(svg)}`);
}

export class ReplayMarks implements vscode.Disposable {
  private readonly kinds = new Map<MarkState, vscode.TextEditorDecorationType>();
  private readonly known = new Map<string, Progress>();
  private readonly others: vscode.Disposable[];

  constructor() {
    for (const state of Object.keys(colours) as MarkState[]) {
      this.kinds.set(state, vscode.window.createTextEditorDecorationType({
        gutterIconPath: bar(colours[state]), gutterIconSize: 'contain', overviewRulerColor: colours[state], overviewRulerLane: vscode.OverviewRulerLane.Left,
      }));
    }
    this.others = [
      vscode.window.onDidChangeVisibleTextEditors((editors) => editors.forEach((editor) => this.show(editor))),
      vscode.workspace.onDidCloseTextDocument((document) => this.known.delete(document.uri.toString())),
    ];
  }

  listen(client: LanguageClient): void {
    this.known.clear();
    client.onNotification('loopsmith/replayProgress', (progress: Progress) => {
      const uri = client.protocol2CodeConverter.asUri(progress.uri);
      const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
      // A message about an earlier text is ignored; another one follows.
      if (!document || progress.version < document.version) { return; }
      this.known.set(uri.toString(), progress);
      for (const editor of vscode.window.visibleTextEditors) {
        if (editor.document === document) { this.show(editor); }
      }
    });
  }

  /// The bars as text, one line each: "25: failed".
  of(uri: vscode.Uri): string[] {
    return (this.known.get(uri.toString())?.marks ?? []).map((mark) => `${mark.range.start.line + 1}: ${mark.state}`);
  }

  private show(editor: vscode.TextEditor): void {
    const marks = this.known.get(editor.document.uri.toString())?.marks ?? [];
    for (const [state, kind] of this.kinds) {
      editor.setDecorations(kind, marks.filter((mark) => mark.state === state).map((mark) => new vscode.Range(mark.range.start.line, 0, mark.range.end.line, 0)));
    }
  }

  dispose(): void {
    for (const kind of this.kinds.values()) { kind.dispose(); }
    for (const other of this.others) { other.dispose(); }
  }
}
