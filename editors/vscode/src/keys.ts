// Keys in the IR view: one key on a loop or block writes a primitive into the schedule, behind the statement that is viewed, and the view
// follows. Where there is a choice it is asked for, with the loops where a block may go marked; what is refused says why. Hovers of the view.
// All answers are the server's (`loopsmith/viewMoves`, `loopsmith/viewHover`).
import * as vscode from 'vscode';
import { LanguageClient, Range, WorkspaceEdit } from 'vscode-languageclient/node';

interface Move { title: string; statement: string; edit?: WorkspaceEdit; reason?: string; other?: Range }
interface Moves { about: string; moves: Move[]; reason?: string; factors?: string }
interface Hover { contents: { kind: string; value: string }; range: Range }

/// What a view shows: the place of the text, as the protocol has it.
export interface Viewed { source: vscode.Uri; at: { textDocument: { uri: string }; position: { line: number; character: number } } }

const keys: [command: string, primitive: string][] = [
  ['loopsmith.ir.split', 'split'], ['loopsmith.ir.vectorize', 'vectorize'], ['loopsmith.ir.unroll', 'unroll'], ['loopsmith.ir.parallel', 'parallel'],
  ['loopsmith.ir.bind', 'bind'], ['loopsmith.ir.computeAt', 'compute_at'], ['loopsmith.ir.reorder', 'reorder'], ['loopsmith.ir.fuse', 'fuse'],
];

/// `viewed`: what a view shows; none: it is no view of a program. `follow`: shows what came of an edit, the cursor on what it changed.
export function registerKeys(client: () => LanguageClient | undefined, viewed: (view: vscode.Uri) => Viewed | undefined, follow: (view: vscode.Uri, source: vscode.TextEditor) => void): vscode.Disposable {
  const legal = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor('editor.findMatchHighlightBackground'), border: '1px solid', borderColor: new vscode.ThemeColor('editorBracketMatch.border'),
  });
  const refuse = (why: string) => { void vscode.window.showWarningMessage(why); };
  /// The title is the view's first line; what follows is the program.
  const inProgram = (at: vscode.Position) => ({ line: at.line - 1, character: at.character });
  const inView = (range: Range) => new vscode.Range(range.start.line + 1, range.start.character, range.end.line + 1, range.end.character);

  async function moves(editor: vscode.TextEditor, primitive: string, factors?: string): Promise<Moves | undefined> {
    const shown = viewed(editor.document.uri);
    const server = client();
    if (!shown || !server || editor.selection.active.line === 0) {
      refuse('There is no loop or block at the cursor.');
      return undefined;
    }
    return server.sendRequest<Moves>('loopsmith/viewMoves', { ...shown.at, at: inProgram(editor.selection.active), primitive, factors }).catch((problem: Error) => {
      refuse(problem.message);
      return undefined;
    });
  }

  async function choose(editor: vscode.TextEditor, found: Moves): Promise<Move | undefined> {
    const allowed = found.moves.filter((move) => move.edit);
    if (allowed.length === 0) { refuse(found.reason ?? 'Nothing can be done here.'); return undefined; }
    if (allowed.length === 1) { return allowed[0]; }
    editor.setDecorations(legal, allowed.flatMap((move) => (move.other ? [inView(move.other)] : [])));
    const refused = found.moves.filter((move) => !move.edit).map((move) => ({ label: `$(circle-slash) ${move.title}`, detail: move.reason, move }));
    const separator = refused.length > 0 ? [{ label: 'not here', kind: vscode.QuickPickItemKind.Separator, move: undefined }] : [];
    const picked = await vscode.window.showQuickPick([...allowed.map((move) => ({ label: move.title, move })), ...separator, ...refused], { title: found.about, matchOnDetail: true });
    editor.setDecorations(legal, []);
    if (picked?.move && !picked.move.edit) { refuse(picked.move.reason ?? ''); }
    return picked?.move?.edit ? picked.move : undefined;
  }

  async function press(primitive: string): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const server = client();
    if (!editor || !server) { return; }
    let found = await moves(editor, primitive);
    if (found && primitive === 'split') {
      if (!found.factors) { refuse(found.reason ?? ''); return; }
      const factors = await vscode.window.showInputBox({ title: `Split ${found.about.replace(/`/g, '')}`, prompt: 'Factors, the outer loop first; None for what is left, one number for the inner loop', value: found.factors });
      found = factors ? await moves(editor, primitive, factors) : undefined;
    }
    const move = found && await choose(editor, found);
    const shown = viewed(editor.document.uri);
    if (!move?.edit || !shown) { return; }
    const edit = await server.protocol2CodeConverter.asWorkspaceEdit(move.edit);
    const written = edit.get(shown.source)[0];
    if (!await vscode.workspace.applyEdit(edit)) { return; }
    // On to the new statement in the text; the keys stay with the view.
    const source = vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === shown.source.toString());
    if (!source) { return; }
    const end = source.document.positionAt(source.document.offsetAt(written.range.start) + written.newText.replace(/\r?\n/g, source.document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n').indexOf(move.statement) + move.statement.length);
    source.selection = new vscode.Selection(end, end);
    source.revealRange(new vscode.Range(end, end));
    follow(editor.document.uri, source);
  }

  return vscode.Disposable.from(
    legal,
    ...keys.map(([command, primitive]) => vscode.commands.registerCommand(command, () => press(primitive))),
    vscode.languages.registerHoverProvider({ scheme: 'loopsmith-ir' }, {
      async provideHover(document, position) {
        const shown = viewed(document.uri);
        if (!shown || position.line === 0) { return undefined; }
        const hover = await client()?.sendRequest<Hover | null>('loopsmith/viewHover', { ...shown.at, at: inProgram(position) }).catch(() => undefined);
        return hover ? new vscode.Hover(new vscode.MarkdownString(hover.contents.value), inView(hover.range)) : undefined;
      },
    }),
  );
}
