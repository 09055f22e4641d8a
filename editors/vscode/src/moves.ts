// Writes a move that the server offers (`loopsmith/moves`, `loopsmith/viewMoves`) into the text. The cursor goes behind its (last) statement,
// since the next request applies to its result.
import * as vscode from 'vscode';
import { LanguageClient, WorkspaceEdit } from 'vscode-languageclient/node';

export interface Move {
  title: string;
  /// The statement alone, without the text around it in the edit and without the gain in the title.
  statement: string;
  edit?: WorkspaceEdit;
  reason?: string;
}

/// The column for a text: its visible editor; else that of a hidden tab; else beside the active editor.
export function columnOf(uri: vscode.Uri): vscode.ViewColumn {
  const inFront = vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === uri.toString())?.viewColumn;
  const active = vscode.window.tabGroups.activeTabGroup;
  const hidden = vscode.window.tabGroups.all.find((group) => group !== active && group.tabs.some((tab) => tab.input instanceof vscode.TabInputText && tab.input.uri.toString() === uri.toString()));
  return inFront ?? hidden?.viewColumn ?? vscode.ViewColumn.Beside;
}

/// Returns the editor of the text with the cursor behind the new statement, or undefined after showing the user why it was not written.
/// `preserveFocus`: the keyboard focus stays.
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
