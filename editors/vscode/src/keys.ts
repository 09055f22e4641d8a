// Keys in the IR view: one key on a loop or block writes a primitive into the schedule, after the statement that is viewed, and the view
// follows. Several possibilities are listed, with the loops where a block may go marked; a rejected primitive shows the reason. Also hovers of the
// view, and definitions that lead from its lines to their origins. The server has all answers (`loopsmith/viewMoves`, `loopsmith/viewHover`,
// `textDocument/definition`).
import * as vscode from 'vscode';
import { LanguageClient, Location, Range } from 'vscode-languageclient/node';
import { Move, write } from './moves';

interface ViewMove extends Move { other?: Range }
interface Moves { about: string; moves: ViewMove[]; reason?: string; factors?: string }
interface Hover { contents: { kind: string; value: string }; range: Range }

/// The place of the text that a view shows, as in the protocol.
export interface Viewed { source: vscode.Uri; at: { textDocument: { uri: string }; position: { line: number; character: number } } }

/// The contents of a view: the address of its state, and the line of the view where it begins.
export interface ViewedState { address: string; firstLine: number }

export interface ViewKeys {
  client: () => LanguageClient | undefined;
  /// The same, for a request of the user; reports a missing server.
  needed: () => LanguageClient | undefined;
  /// Undefined for documents that are not the view of a program that follows a cursor.
  viewed: (view: vscode.Uri) => Viewed | undefined;
  state: (view: vscode.Uri) => ViewedState | undefined;
  /// Shows the result of an edit, with the cursor on the change.
  follow: (view: vscode.Uri, source: vscode.TextEditor) => Promise<void>;
}

const keys: [command: string, primitive: string][] = [
  ['loopsmith.ir.split', 'split'], ['loopsmith.ir.vectorize', 'vectorize'], ['loopsmith.ir.unroll', 'unroll'], ['loopsmith.ir.parallel', 'parallel'],
  ['loopsmith.ir.bind', 'bind'], ['loopsmith.ir.computeAt', 'compute_at'], ['loopsmith.ir.reorder', 'reorder'], ['loopsmith.ir.fuse', 'fuse'],
];

export function registerKeys({ client, needed, viewed, state, follow }: ViewKeys): vscode.Disposable {
  const legal = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor('editor.findMatchHighlightBackground'), border: '1px solid', borderColor: new vscode.ThemeColor('editorBracketMatch.border'),
  });
  const refuse = (why: string) => { void vscode.window.showWarningMessage(why); };
  /// The first line of the view is a title, the program follows.
  const inProgram = (at: vscode.Position) => ({ line: at.line - 1, character: at.character });
  const inView = (range: Range) => new vscode.Range(range.start.line + 1, range.start.character, range.end.line + 1, range.end.character);

  async function moves(editor: vscode.TextEditor, primitive: string, factors?: string): Promise<Moves | undefined> {
    const shown = viewed(editor.document.uri);
    const server = needed();
    if (!server) { return undefined; }
    if (!shown || editor.selection.active.line === 0) {
      refuse('There is no loop or block at the cursor.');
      return undefined;
    }
    return server.sendRequest<Moves>('loopsmith/viewMoves', { ...shown.at, at: inProgram(editor.selection.active), primitive, factors }).catch((problem: Error) => {
      refuse(problem.message);
      return undefined;
    });
  }

  async function choose(editor: vscode.TextEditor, found: Moves): Promise<ViewMove | undefined> {
    const allowed = found.moves.filter((move) => move.edit);
    if (allowed.length === 0) { refuse(found.reason ?? 'No primitive applies here.'); return undefined; }
    if (allowed.length === 1) { return allowed[0]; }
    editor.setDecorations(legal, allowed.flatMap((move) => (move.other ? [inView(move.other)] : [])));
    const refused = found.moves.filter((move) => !move.edit).map((move) => ({ label: `$(circle-slash) ${move.title}`, detail: move.reason, move }));
    const separator = refused.length > 0 ? [{ label: 'not here', kind: vscode.QuickPickItemKind.Separator, move: undefined }] : [];
    const picked = await vscode.window.showQuickPick([...allowed.map((move) => ({ label: move.title, move })), ...separator, ...refused], { title: found.about, matchOnDetail: true });
    editor.setDecorations(legal, []);
    if (picked?.move && !picked.move.edit) { refuse(picked.move.reason ?? ''); }
    return picked?.move?.edit ? picked.move : undefined;
  }

  async function carryOut(editor: vscode.TextEditor, primitive: string): Promise<void> {
    const shown = viewed(editor.document.uri);
    // The server knows open texts only; a text that is written to is open.
    const text = shown && await vscode.workspace.openTextDocument(shown.source).then((document) => document, (problem: Error) => {
      refuse(`The text of this view cannot be opened: ${problem.message}`);
      return undefined;
    });
    if (shown && !text) { return; }
    let found = await moves(editor, primitive);
    if (found && primitive === 'split') {
      if (!found.factors) { refuse(found.reason ?? ''); return; }
      const factors = await vscode.window.showInputBox({ title: `Split ${found.about.replace(/`/g, '')}`, prompt: 'Factors, the outer loop first; None for what is left, one number for the inner loop', value: found.factors });
      found = factors ? await moves(editor, primitive, factors) : undefined;
    }
    const move = found && await choose(editor, found);
    const server = client();
    if (!move || !shown || !server) { return; }
    // The cursor of the text goes to the new statement; the keyboard focus stays in the view.
    const source = await write(server, shown.source, move, true);
    if (source) { await follow(editor.document.uri, source); }
  }

  // One after the other: a key applies to the result of the one before, however fast they are typed.
  let before = Promise.resolve();
  function press(primitive: string): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) { return Promise.resolve(); }
    before = before.then(() => carryOut(editor, primitive)).catch((problem: Error) => refuse(problem.message));
    return before;
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
    // The program's line that a line of the view stands for, and the statements of the schedule that made it.
    vscode.languages.registerDefinitionProvider({ scheme: 'loopsmith-ir' }, {
      async provideDefinition(document, position) {
        const [shown, server] = [state(document.uri), client()];
        if (!shown || !server || position.line < shown.firstLine) { return undefined; }
        const found = await server.sendRequest<Location[] | null>('textDocument/definition', {
          textDocument: { uri: shown.address }, position: { line: position.line - shown.firstLine, character: position.character },
        }).catch(() => undefined);
        return found?.map((one) => new vscode.Location(server.protocol2CodeConverter.asUri(one.uri), server.protocol2CodeConverter.asRange(one.range)));
      },
    }),
  );
}
