// A move that the server offers (`loopsmith/moves`, `loopsmith/viewMoves`), written into the text. The cursor goes behind its statement,
// the last of them where it is several: what is asked for next is about what they left.
import * as vscode from 'vscode';
import { LanguageClient, WorkspaceEdit } from 'vscode-languageclient/node';

export interface Move {
  title: string;
  /// As it is written: what the edit has around it is not in it, nor what the title says of its gain.
  statement: string;
  edit?: WorkspaceEdit;
  reason?: string;
}

/// Where a text is shown: in front; else beside a tab of it that is hidden; else beside what is active.
export function columnOf(uri: vscode.Uri): vscode.ViewColumn {
  const inFront = vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === uri.toString())?.viewColumn;
  const active = vscode.window.tabGroups.activeTabGroup;
  const hidden = vscode.window.tabGroups.all.find((group) => group !== active && group.tabs.some((tab) => tab.input instanceof vscode.TabInputText && tab.input.uri.toString() === uri.toString()));
  return inFront ?? hidden?.viewColumn ?? vscode.ViewColumn.Beside;
}

/// The editor of the text with the cursor behind what was written; undefined: it was not, and the user was told why. `preserveFocus`: the
/// keys stay where they are.
export async function write(client: LanguageClient, source: vscode.Uri, move: Move, preserveFocus: boolean): Promise<vscode.TextEditor | undefined> {
  const edit = move.edit && await client.protocol2CodeConverter.asWorkspaceEdit(move.edit);
  const written = edit?.get(source)[0];
  if (!edit || !written) { return undefined; }
  const document = await vscode.workspace.openTextDocument(source);
  if (!await vscode.workspace.applyEdit(edit)) {
    void vscode.window.showWarningMessage(`The text has changed meanwhile, and \`${move.statement}\` was not written. Choose again.`);
    return undefined;
  }
  const ownLines = (text: string) => text.replace(/\r?\n/g, document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n');
  const statement = ownLines(move.statement);
  const end = document.positionAt(document.offsetAt(written.range.start) + ownLines(written.newText).indexOf(statement) + statement.length);
  const editor = await vscode.window.showTextDocument(document, { viewColumn: columnOf(source), preserveFocus, preview: false });
  editor.selection = new vscode.Selection(end, end);
  editor.revealRange(new vscode.Range(end, end));
  return editor;
}
