// The loop view: the loops and blocks of the program at the cursor, as a tree that follows the cursor. A click on one lists the primitives that
// apply to it; the choice is written into the schedule, and the cursor goes there. The server has all answers (`loopsmith/loops`,
// `loopsmith/moves`).
import * as vscode from 'vscode';
import { LanguageClient, Range } from 'vscode-languageclient/node';
import { Move, write } from './moves';

interface LoopNode {
  place: number;
  depth: number;
  kind: 'block' | 'serial' | 'parallel' | 'vectorized' | 'unrolled' | 'bound';
  text: string;
  name: string;
  facts: string;
  range?: Range;
}

interface Loops {
  title: string;
  function: string;
  nodes: LoopNode[];
}

interface Item {
  node: LoopNode;
  parent?: Item;
  children: Item[];
}

// The same delay as in the IR view.
const followDelayMs = 60;

const icons: Record<LoopNode['kind'], string> = {
  block: 'symbol-namespace', serial: 'sync', parallel: 'list-tree', vectorized: 'symbol-array', unrolled: 'list-ordered', bound: 'server-process',
};

export class LoopView implements vscode.TreeDataProvider<Item>, vscode.Disposable {
  private readonly changedEmitter = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changedEmitter.event;
  private readonly tree: vscode.TreeView<Item>;
  private readonly subscriptions: vscode.Disposable[];
  private roots: Item[] = [];
  private document: vscode.TextDocument | undefined;
  private position = new vscode.Position(0, 0);
  private timer: NodeJS.Timeout | undefined;

  /// `needed`: the server, for a request of the user; reports a missing server.
  constructor(private readonly client: () => LanguageClient | undefined, private readonly needed: () => LanguageClient | undefined) {
    this.tree = vscode.window.createTreeView('loopsmith.loops', { treeDataProvider: this, showCollapseAll: true });
    this.subscriptions = [
      this.tree,
      vscode.commands.registerCommand('loopsmith.chooseMove', (item: Item) => this.choose(item)),
      vscode.commands.registerCommand('loopsmith.revealLoop', (item: Item) => this.reveal(item)),
      vscode.window.onDidChangeTextEditorSelection((event) => this.follow(event.textEditor)),
      vscode.window.onDidChangeActiveTextEditor((editor) => { if (editor) { this.follow(editor); } }),
      vscode.workspace.onDidChangeTextDocument((event) => {
        const editor = vscode.window.activeTextEditor;
        if (editor && editor.document === event.document) { this.follow(editor); }
      }),
      this.tree.onDidChangeVisibility(() => { if (vscode.window.activeTextEditor) { this.follow(vscode.window.activeTextEditor); } }),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) { subscription.dispose(); }
    this.changedEmitter.dispose();
  }

  getChildren(item?: Item): Item[] { return item ? item.children : this.roots; }
  getParent(item: Item): Item | undefined { return item.parent; }

  getTreeItem(item: Item): vscode.TreeItem {
    const { node } = item;
    const shown = new vscode.TreeItem(node.text, item.children.length > 0 ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None);
    // Ids of places are stable between states, so that folded nodes stay folded.
    shown.id = `${item.parent ? this.getTreeItem(item.parent).id : ''}/${node.kind === 'block' ? 'block' : 'loop'} ${node.text.split(' ').slice(0, 2).join(' ')}#${item.parent?.children.indexOf(item) ?? 0}`;
    shown.description = [node.name && node.name !== node.text.split(' ')[0] ? `[${node.name}]` : '', node.facts].filter(Boolean).join('  ');
    shown.tooltip = `${node.text}\n${node.facts}`;
    shown.iconPath = new vscode.ThemeIcon(icons[node.kind]);
    shown.contextValue = node.kind === 'block' ? 'block' : 'loop';
    shown.accessibilityInformation = { label: `${node.text}, ${node.facts}` };
    shown.command = { command: 'loopsmith.chooseMove', title: 'Choose a Primitive', arguments: [item] };
    return shown;
  }

  private follow(editor: vscode.TextEditor): void {
    if (!this.tree.visible || !['tirscript', 'python'].includes(editor.document.languageId) || editor.document.uri.scheme === 'loopsmith-ir') { return; }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.update(editor.document, editor.selection.active), followDelayMs);
  }

  private at(): { textDocument: { uri: string }; position: { line: number; character: number } } | undefined {
    const client = this.client();
    if (!client || !this.document) { return undefined; }
    return { textDocument: { uri: client.code2ProtocolConverter.asUri(this.document.uri) }, position: client.code2ProtocolConverter.asPosition(this.position) };
  }

  private async update(document: vscode.TextDocument, position: vscode.Position): Promise<void> {
    [this.document, this.position] = [document, position];
    // An error is about an outdated text: the change of the text requests the loops again, and the tree stays.
    const loops = await this.client()?.sendRequest<Loops | null>('loopsmith/loops', this.at()).catch(() => undefined);
    if (loops === undefined) { return; }
    this.roots = [];
    const path: Item[] = [];
    for (const node of loops?.nodes ?? []) {
      path.length = node.depth;
      const parent = path[node.depth - 1];
      const item: Item = { node, parent, children: [] };
      (parent ? parent.children : this.roots).push(item);
      path.push(item);
    }
    this.tree.description = loops?.title;
    this.tree.message = loops ? undefined : 'Put the cursor into a program or a schedule.';
    this.changedEmitter.fire();
  }

  private async choose(item: Item): Promise<void> {
    const [client, at, document] = [this.needed(), this.at(), this.document];
    if (!client || !at || !document) { return; }
    const moves = await client.sendRequest<Move[]>('loopsmith/moves', { ...at, place: item.node.place }).catch((failure: Error) => {
      void vscode.window.showInformationMessage(`The text has changed meanwhile: ${failure.message}. Choose again.`);
      return undefined;
    });
    if (!moves) { return; }
    if (moves.length === 0) {
      void vscode.window.showInformationMessage(`No primitive applies to \`${item.node.text}\` here.`);
      return;
    }
    const legal = moves.filter((move) => move.edit).map((move) => ({ label: move.title, move }));
    const refused = moves.filter((move) => !move.edit).map((move) => ({ label: `$(circle-slash) ${move.title}`, detail: move.reason, move }));
    const separator = refused.length > 0 ? [{ label: 'not here', kind: vscode.QuickPickItemKind.Separator, move: undefined }] : [];
    const picked = await vscode.window.showQuickPick([...legal, ...separator, ...refused], {
      title: item.node.text, placeHolder: 'A primitive to write into the schedule', matchOnDetail: true,
    });
    if (!picked?.move?.edit) { return; }
    // The cursor goes to the new statement: the next choice applies to its result.
    await write(client, document.uri, picked.move, false);
  }

  private async reveal(item: Item): Promise<void> {
    const client = this.client();
    if (!client || !this.document || !item.node.range) { return; }
    const editor = await vscode.window.showTextDocument(this.document);
    const range = client.protocol2CodeConverter.asRange(item.node.range);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    editor.selection = new vscode.Selection(range.start, range.start);
  }
}
