// Views of a program beside its text, as read-only documents that follow the cursor: the IR after a statement of a schedule, with its changed
// lines marked; the lowered program, its LLVM IR and assembly; the program lowered for a GPU, its kernels in CUDA C, OpenCL C and PTX. A line of the text and the lines that came from it are marked on both sides. Also
// any two states of a schedule side by side. The server makes all texts (`loopsmith/ir`, `workspace/textDocumentContent`).
import * as vscode from 'vscode';
import { LanguageClient } from 'vscode-languageclient/node';
import { registerKeys, Viewed, ViewedState } from './keys';
import { columnOf } from './moves';

interface Answer {
  uri: string;
  title: string;
  text: string;
  changed: { startLine: number; endLine: number }[];
  /// Pairs: a line of the view, and the line of the text that it stands for.
  sources: [number, number][];
  isBehind: boolean;
}

interface Stage {
  name: '' | 'lowered' | 'llvm' | 'asm' | 'device' | 'cuda' | 'opencl' | 'ptx';
  command: string;
  suffix: string;
  comment: string;
  language?: string;
  /// Long enough for keys that repeat, short enough to feel like the same moment; code takes longer to make.
  delayMs: number;
}

const scheme = 'loopsmith-ir';
const stages: Stage[] = [
  { name: '', command: 'loopsmith.showIr', suffix: '.ir.tir', comment: '#', language: 'tirscript', delayMs: 40 },
  { name: 'lowered', command: 'loopsmith.showLowered', suffix: '.lowered.tir', comment: '#', language: 'tirscript', delayMs: 40 },
  { name: 'llvm', command: 'loopsmith.showLlvm', suffix: '.ll', comment: ';', delayMs: 150 },
  { name: 'asm', command: 'loopsmith.showAssembly', suffix: '.s', comment: '#', delayMs: 150 },
  { name: 'device', command: 'loopsmith.showDevice', suffix: '.device.tir', comment: '#', language: 'tirscript', delayMs: 40 },
  { name: 'cuda', command: 'loopsmith.showCuda', suffix: '.cu', comment: '//', language: 'cuda-cpp', delayMs: 40 },
  { name: 'opencl', command: 'loopsmith.showOpenCl', suffix: '.cl', comment: '//', language: 'c', delayMs: 40 },
  { name: 'ptx', command: 'loopsmith.showPtx', suffix: '.ptx', comment: '//', delayMs: 150 },
];

interface Place { uri: string; position: { line: number; character: number } }
/// `version`: the version of the text that the answer is about.
interface Shown { answer: Answer; source: vscode.Uri; line: number; character: number; version: number }
/// The effect of a key in a view: the view will show this line of the text, with its cursor on the change.
interface Jump { view: string; line: number; done: () => void }

/// Longer than a state needs. After this time, a view that is not up to date no longer delays the next key.
const longestJumpMs = 3000;

export class IrView implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changedEmitter = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changedEmitter.event;
  /// The documents of open views.
  private readonly shown = new Map<string, Shown>();
  /// The visible views at the last check: only these are computed again.
  private inFront = new Set<string>();
  /// The newest request for each view: an answer to an earlier one is not shown.
  private readonly asked = new Map<string, number>();
  private readonly mark = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('diffEditor.insertedLineBackground'),
    overviewRulerColor: new vscode.ThemeColor('editorGutter.addedBackground'),
  });
  private readonly same = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('editor.wordHighlightStrongBackground'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.rangeHighlightForeground'),
    borderColor: new vscode.ThemeColor('editorCursor.foreground'),
    borderWidth: '0 0 0 2px',
    borderStyle: 'solid',
  });
  private readonly subscriptions: vscode.Disposable[];
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private jump: Jump | undefined;

  /// `needed`: the server, for a request of the user; reports a missing server.
  constructor(private readonly client: () => LanguageClient | undefined, private readonly needed: () => LanguageClient | undefined) {
    this.subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider(scheme, this),
      registerKeys({ client, needed, viewed: (view) => this.viewed(view), state: (view) => this.stateOf(view), follow: (view, source) => this.jumpTo(view, source) }),
      ...stages.map((stage) => vscode.commands.registerCommand(stage.command, (place?: Place) => this.show(stage, place))),
      vscode.commands.registerCommand('loopsmith.compareSteps', () => this.compare()),
      vscode.commands.registerCommand('loopsmith.showDifference', (states?: { from: string; to: string; title: string }) => {
        const state = (address: string) => vscode.Uri.from({ scheme, path: address.slice(scheme.length + 1).replace(/#[^#]*$/, ''), fragment: address.replace(/^.*#/, '') });
        return states && vscode.commands.executeCommand('vscode.diff', state(states.from), state(states.to), states.title);
      }),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        if (event.textEditor.document.uri.scheme === scheme) {
          if (event.textEditor === vscode.window.activeTextEditor) { this.revealSource(event.textEditor); }
        } else {
          event.textEditor.setDecorations(this.same, []);
          this.follow(event.textEditor);
        }
      }),
      vscode.workspace.onDidChangeTextDocument((event) => {
        const editor = vscode.window.visibleTextEditors.find((candidate) => candidate.document === event.document);
        if (event.document.uri.scheme === scheme) { this.paint(event.document.uri); } else if (editor) { this.follow(editor); }
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        // Changing the language of a document closes and opens it; the view still exists.
        if (document.isClosed) { this.forget(document.uri); }
      }),
      vscode.window.onDidChangeVisibleTextEditors((editors) => this.comeToFront(editors)),
    ];
  }

  dispose(): void {
    for (const timer of this.timers.values()) { clearTimeout(timer); }
    for (const subscription of this.subscriptions) { subscription.dispose(); }
    this.mark.dispose();
    this.same.dispose();
    this.changedEmitter.dispose();
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    // A state by its address, "a.tir#tiled@3", next to another one.
    if (uri.fragment !== '') {
      const content = await this.client()?.sendRequest<{ text: string }>('workspace/textDocumentContent', { uri: uri.toString() }).catch(() => undefined);
      return content?.text ?? '# nothing to show here\n';
    }
    const shown = this.shown.get(uri.toString());
    return shown ? IrView.textOf(uri, shown.answer) : `${IrView.stageOf(uri).comment} nothing to show here\n`;
  }

  private static stageOf(view: vscode.Uri): Stage { return stages.find((candidate) => view.path.endsWith(candidate.suffix)) ?? stages[0]; }
  private static textOf(view: vscode.Uri, answer: Answer): string { return `${IrView.stageOf(view).comment} ${answer.title}\n${answer.text}\n`; }

  /// One view per text and stage, for all statements, so that it stays where the user put it.
  private static viewOf(document: vscode.TextDocument, stage: Stage): vscode.Uri {
    return vscode.Uri.from({ scheme, path: `${document.uri.path}${stage.suffix}` });
  }

  private async show(stage: Stage, place?: Place): Promise<void> {
    const editor = place
      ? vscode.window.visibleTextEditors.find((candidate) => candidate.document.uri.toString() === vscode.Uri.parse(place.uri).toString())
      : vscode.window.activeTextEditor;
    if (!this.needed() || !editor) { return; }
    // From a view: the other stages for the same place of the text.
    const from = this.shown.get(editor.document.uri.toString());
    if (!from && editor.document.uri.scheme === scheme) {
      void vscode.window.showInformationMessage('This view shows one fixed state and does not follow the cursor. Put the cursor into the text.');
      return;
    }
    const source = from ? await vscode.workspace.openTextDocument(from.source) : editor.document;
    const position = place ? new vscode.Position(place.position.line, place.position.character) : from ? new vscode.Position(from.line, from.character) : editor.selection.active;
    const uri = IrView.viewOf(source, stage);
    if (!await this.update(source, position, stage)) {
      void vscode.window.showInformationMessage('There is no program here to show.');
      return;
    }
    const document = await vscode.workspace.openTextDocument(uri);
    if (stage.language) { await vscode.languages.setTextDocumentLanguage(document, stage.language); }
    await vscode.window.showTextDocument(document, { viewColumn: columnOf(uri), preserveFocus: true, preview: false });
    this.paint(uri);
  }

  /// Shows the states after the statement at the cursor and after another one in the diff editor.
  private async compare(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!this.needed() || !editor) { return; }
    const here = await this.ask(editor.document, editor.selection.active, stages[0]);
    const address = /^(.*)#(.*)@(\d+)$/.exec(here?.uri ?? '');
    if (!here || !address) {
      void vscode.window.showInformationMessage('Put the cursor on a statement of a schedule to compare it with another one.');
      return;
    }
    const [, text, schedule, at] = address;
    const total = Number(/ of (\d+) statements/.exec(here.title)?.[1] ?? at);
    const choices: (vscode.QuickPickItem & { step: number })[] = [];
    for (let step = 0; step <= total; ++step) {
      if (step === Number(at)) { continue; }
      choices.push({ step, label: step === 0 ? 'the program as written' : `after statement ${step}`, description: step === Number(at) - 1 ? 'the one before' : '' });
    }
    choices.sort((a, b) => Number(b.step === Number(at) - 1) - Number(a.step === Number(at) - 1) || a.step - b.step);
    const chosen = await vscode.window.showQuickPick(choices, { placeHolder: `Compare ${schedule} after statement ${at} with ...` });
    if (!chosen) { return; }
    const [from, to] = [Math.min(chosen.step, Number(at)), Math.max(chosen.step, Number(at))];
    const state = (step: number) => vscode.Uri.from({ scheme, path: text.slice(scheme.length + 1), fragment: `${schedule}@${step}` });
    await vscode.commands.executeCommand('vscode.diff', state(from), state(to), `${schedule}: statement ${from} to ${to}`);
  }

  /// The state that a view of a program shows; undefined for lowered programs and for views opened by address.
  private viewed(view: vscode.Uri): Viewed | undefined {
    const shown = this.shown.get(view.toString());
    const client = this.client();
    if (!shown || !client || !view.path.endsWith(stages[0].suffix)) { return undefined; }
    return { source: shown.source, at: { textDocument: { uri: client.code2ProtocolConverter.asUri(shown.source) }, position: { line: shown.line, character: shown.character } } };
  }

  /// The state in a view; in a view that follows no cursor, the state of its address.
  private stateOf(view: vscode.Uri): ViewedState | undefined {
    const shown = this.shown.get(view.toString());
    // The title is the view's first line.
    if (shown) { return { address: shown.answer.uri, firstLine: 1 }; }
    return view.fragment === '' ? undefined : { address: view.toString(), firstLine: 0 };
  }

  private forget(view: vscode.Uri): void {
    const key = view.toString();
    clearTimeout(this.timers.get(key));
    for (const known of [this.timers, this.shown, this.asked]) { known.delete(key); }
  }

  /// A view that was behind another tab catches up with the text.
  private comeToFront(editors: readonly vscode.TextEditor[]): void {
    const before = this.inFront;
    this.inFront = new Set(editors.map((editor) => editor.document.uri.toString()));
    for (const { document: { uri } } of editors) {
      this.paint(uri);
      const shown = before.has(uri.toString()) ? undefined : this.shown.get(uri.toString());
      const source = shown && editors.find((editor) => editor.document.uri.toString() === shown.source.toString());
      const at = source?.selection.active;
      if (source && (at?.line !== shown.line || at.character !== shown.character || source.document.version !== shown.version)) { this.follow(source); }
    }
  }

  private follow(editor: vscode.TextEditor): void {
    for (const stage of stages) {
      const key = IrView.viewOf(editor.document, stage).toString();
      const isSeen = vscode.window.visibleTextEditors.some((view) => view.document.uri.toString() === key);
      if (!isSeen || !this.shown.has(key)) { continue; }
      if (!vscode.workspace.getConfiguration('loopsmith').get<boolean>('ir.follow', true)) { return; }
      clearTimeout(this.timers.get(key));
      this.timers.set(key, setTimeout(() => void this.update(editor.document, editor.selection.active, stage), stage.delayMs));
    }
  }

  private async ask(document: vscode.TextDocument, position: vscode.Position, stage: Stage): Promise<Answer | undefined> {
    const client = this.client();
    if (!client) { return undefined; }
    // An answer about an outdated text is an error; the change of the text requests the view again.
    const answer = await client.sendRequest<Answer | null>('loopsmith/ir', {
      textDocument: { uri: client.code2ProtocolConverter.asUri(document.uri) }, position, stage: stage.name,
    }).catch(() => undefined);
    return answer ?? undefined;
  }

  private async update(document: vscode.TextDocument, position: vscode.Position, stage: Stage): Promise<boolean> {
    const uri = IrView.viewOf(document, stage);
    const key = uri.toString();
    const [number, version] = [(this.asked.get(key) ?? 0) + 1, document.version];
    this.asked.set(key, number);
    const answer = await this.ask(document, position, stage);
    if (!answer) { return false; }
    if (this.asked.get(key) !== number) { return true; }
    const before = this.shown.get(key);
    this.shown.set(key, { answer, source: document.uri, line: position.line, character: position.character, version });
    if (before?.answer.text === answer.text && before.answer.title === answer.title) { this.paint(uri); } else { this.changedEmitter.fire(uri); }
    return true;
  }

  /// Resolves when the view shows the line of the text at the cursor, with its own cursor on the change.
  private jumpTo(view: vscode.Uri, source: vscode.TextEditor): Promise<void> {
    return new Promise((resolve) => {
      const end = setTimeout(() => this.jump?.done(), longestJumpMs);
      const done = () => {
        clearTimeout(end);
        this.jump = undefined;
        resolve();
      };
      this.jump = { view: view.toString(), line: source.selection.active.line, done };
      void this.update(source.document, source.selection.active, IrView.stageOf(view));
    });
  }

  private paint(uri: vscode.Uri): void {
    const shown = this.shown.get(uri.toString());
    if (!shown) { return; }
    const { answer } = shown;
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.toString() !== uri.toString()) { continue; }
      // The title is the view's first line.
      const ranges = answer.changed.map(({ startLine, endLine }) => new vscode.Range(startLine + 1, 0, endLine, 0));
      const here = answer.sources.filter(([, line]) => line === shown.line).map(([line]) => new vscode.Range(line + 1, 0, line + 1, 0));
      editor.setDecorations(this.mark, ranges);
      editor.setDecorations(this.same, here);
      const first = ranges[0] ?? here[0];
      // Only once the view has the text to which these lines belong.
      if (this.jump?.view === uri.toString() && this.jump.line === shown.line && editor.document.getText() === IrView.textOf(uri, answer)) {
        if (first) {
          editor.selection = new vscode.Selection(first.start, first.start);
          editor.revealRange(first, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
        }
        this.jump.done();
      }
      if (first && vscode.window.activeTextEditor !== editor) { editor.revealRange(first, vscode.TextEditorRevealType.InCenterIfOutsideViewport); }
    }
  }

  /// The server reports that the state with this address has changed.
  refresh(uri: string): void { this.changedEmitter.fire(vscode.Uri.parse(uri)); }

  /// For a cursor in a view: shows the line of the text that its line came from.
  private revealSource(view: vscode.TextEditor): void {
    const shown = this.shown.get(view.document.uri.toString());
    if (!shown) { return; }
    const at = view.selection.active.line - 1;
    const made = shown.answer.sources.filter(([line]) => line <= at).pop();
    const exact = shown.answer.sources.find(([line]) => line === at) ?? (shown.answer.title.includes(', as ') ? undefined : made);
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.toString() !== shown.source.toString()) { continue; }
      const range = exact ? new vscode.Range(exact[1], 0, exact[1], 0) : undefined;
      editor.setDecorations(this.same, range ? [range] : []);
      // The statement that is viewed stays in sight: a key writes the next one behind it.
      const viewed = editor.selection.active.line;
      const lines = editor.visibleRanges.length > 0 ? editor.visibleRanges[0].end.line - editor.visibleRanges[0].start.line : 0;
      if (range && Math.abs(range.start.line - viewed) < lines) {
        editor.revealRange(range.union(new vscode.Range(viewed, 0, viewed, 0)), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      }
    }
    view.setDecorations(this.same, exact ? shown.answer.sources.filter(([, line]) => line === exact[1]).map(([line]) => new vscode.Range(line + 1, 0, line + 1, 0)) : []);
  }
}
