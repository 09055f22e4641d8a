// The VS Code extension: it starts `loopsmith lsp` and leaves the rest to the server. This file finds the
// program (and gives advice if it is missing), and has the settings and the status bar item. Others have the IR beside a schedule (view.ts), the
// loop view (loops.ts), the tuning panel (tuning.ts), tasks (tasks.ts), and commands that the server carries out (commands.ts).
import * as vscode from 'vscode';
import {
  CloseAction, ErrorAction, LanguageClient, LanguageClientOptions, RevealOutputChannelOn, ServerOptions, State,
} from 'vscode-languageclient/node';
import { answered, knowsSizes, registerCommands } from './commands';
import { LoopView } from './loops';
import { ReplayMarks } from './replay';
import { registerTasks } from './tasks';
import { TuningPanel } from './tuning';
import { IrView } from './view';

let client: LanguageClient | undefined;
let status: vscode.StatusBarItem;
let tuning: TuningPanel;
let views: IrView;
let replay: ReplayMarks;

// Restarts in quicker succession than this count as one continuing failure.
const restartWindowMs = 3 * 60 * 1000;
const maxRestarts = 5;

/// The interface for other extensions and for tests.
export interface Api { replayMarks(uri: vscode.Uri): string[]; status(): string }

// The status that the server reports (`experimental/serverStatus`).
interface Health { health: 'ok' | 'warning' | 'error'; quiescent: boolean; message: string }

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  status = vscode.window.createStatusBarItem('loopsmith.status', vscode.StatusBarAlignment.Right, 50);
  status.name = 'Loopsmith';
  status.command = 'loopsmith.showOutput';
  tuning = new TuningPanel(() => client);
  context.subscriptions.push(
    status,
    views = new IrView(() => client, needed),
    new LoopView(() => client, needed),
    tuning,
    replay = new ReplayMarks(),
    registerTasks(),
    registerCommands(needed),
    vscode.commands.registerCommand('loopsmith.openRepl', openRepl),
    vscode.commands.registerCommand('loopsmith.showMemory', showMemory),
    vscode.commands.registerCommand('loopsmith.restart', restart),
    vscode.commands.registerCommand('loopsmith.showOutput', () => client?.outputChannel.show()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void client?.sendNotification('workspace/didChangeConfiguration', { settings: options() })),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (['server', 'python', 'pullDiagnostics'].some((one) => event.affectsConfiguration(`loopsmith.${one}`))) { restartWhereNeeded(); }
    }),
  );
  await start();
  return { replayMarks: (uri) => replay.of(uri), status: () => `${status.text} (${String(status.tooltip)})` };
}

/// Returns the server for a request of the user, and reports if it does not run.
function needed(): LanguageClient | undefined {
  if (client && client.state !== State.Stopped) { return client; }
  void reportMissing('The Loopsmith server does not run');
  return undefined;
}

/// Opens a REPL in a terminal that sees the text of the active editor as it is, saved or not. It begins with the schedule at the cursor, up to the statement there.
async function openRepl(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const uri = editor?.document.uri;
  const server = needed();
  if (!server || !editor || !uri) { return; }
  try {
    const { command } = await server.sendRequest<{ command: string[] }>('workspace/executeCommand', {
      command: 'loopsmith.attachRepl', arguments: [{ uri: server.code2ProtocolConverter.asUri(uri), position: { line: editor.selection.active.line, character: 0 } }],
    });
    vscode.window.createTerminal({ name: 'Loopsmith', shellPath: command[0], shellArgs: command.slice(1) }).show();
  } catch (problem) {
    void vscode.window.showErrorMessage(problem instanceof Error ? problem.message : String(problem));
  }
}

/// Shows the memory of the server, file by file, as a document.
async function showMemory(): Promise<void> {
  const server = needed();
  if (!server) { return; }
  const { text } = await server.sendRequest<{ text: string }>('loopsmith/memoryUsage', {});
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content: text }), { preview: true });
}

export async function deactivate(): Promise<void> {
  clearTimeout(settling);
  await client?.stop();
}

// The settings with which the client was started. Settings that are being written may read as empty for a moment, so they are read again
// when they have not changed for a while.
const settledMs = 500;
let startedWith = '';
let settling: NodeJS.Timeout | undefined;
// The reason why the server did not start, for the message; empty if it started.
let whyMissing = '';

function whatToStart(): { command: string; args: string[]; python: boolean; pulls: boolean } {
  const settings = vscode.workspace.getConfiguration('loopsmith');
  return {
    command: settings.get<string>('server.path') || 'loopsmith',
    args: ['lsp', '--stdio', ...settings.get<string[]>('server.arguments', [])],
    python: settings.get<boolean>('python.enable', true),
    pulls: settings.get<boolean>('pullDiagnostics', false),
  };
}

function restartWhereNeeded(): void {
  clearTimeout(settling);
  settling = setTimeout(() => { if (JSON.stringify(whatToStart()) !== startedWith) { void restart(); } }, settledMs);
}

async function restart(): Promise<void> {
  await client?.stop().catch(() => undefined);
  await client?.dispose().catch(() => undefined);
  client = undefined;
  await start();
}

async function start(): Promise<void> {
  const { command, args, python } = whatToStart();
  startedWith = JSON.stringify(whatToStart());
  const server: ServerOptions = { run: { command, args }, debug: { command, args } };

  const selector = [{ scheme: 'file', language: 'tirscript' }, { scheme: 'untitled', language: 'tirscript' }];
  if (python) { selector.push({ scheme: 'file', language: 'python' }); }

  const crashes: number[] = [];
  const clientOptions: LanguageClientOptions = {
    documentSelector: selector,
    synchronize: { configurationSection: 'loopsmith' },
    initializationOptions: options(),
    middleware: {
      provideCodeLenses: (document, token, next) => enabled('codeLens') ? next(document, token) : [],
      provideInlayHints: (document, range, token, next) => enabled('inlayHints') ? next(document, range, token) : [],
      // A command with questions asks them first, wherever it was chosen.
      executeCommand: async (command, args, next) => {
        const server = client;
        if (!server) { return next(command, args); }
        if (command !== 'loopsmith.split' && command !== 'loopsmith.sizes') { return await knowsSizes(server, command, args) ? next(command, args) : undefined; }
        const asked = await answered(server, command, args, command === 'loopsmith.split' ? 'Split' : 'Sizes');
        return asked && server.sendRequest('workspace/executeCommand', asked).catch((problem: Error) => vscode.window.showErrorMessage(problem.message));
      },
    },
    outputChannelName: 'Loopsmith',
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue }),
      closed: () => {
        const now = Date.now();
        crashes.push(now);
        while (crashes.length > 0 && now - crashes[0] > restartWindowMs) { crashes.shift(); }
        if (crashes.length < maxRestarts) { return { action: CloseAction.Restart }; }
        return {
          action: CloseAction.DoNotRestart,
          message: `The Loopsmith server stopped ${crashes.length} times in three minutes. "Loopsmith: Restart Server" starts it again; "Loopsmith: Show Output" has its last words.`,
        };
      },
    },
  };

  client = new LanguageClient('loopsmith', 'Loopsmith', server, clientOptions);
  client.onDidChangeState(({ newState }) => show(newState));
  client.registerFeature({
    fillClientCapabilities: (capabilities) => { capabilities.experimental = { ...capabilities.experimental, loopsmithViews: true, loopsmithReplayProgress: true, serverStatusNotification: true, interactiveResolve: { inputTypes: ['string', 'number'] } }; },
    initialize: () => undefined,
    getState: () => ({ kind: 'static' }),
    clear: () => undefined,
  });
  tuning.listen(client);
  replay.listen(client);
  client.onNotification('experimental/serverStatus', showHealth);
  client.onRequest('workspace/textDocumentContent/refresh', ({ uri }: { uri: string }) => { views.refresh(uri); return null; });
  try {
    whyMissing = '';
    await client.start();
  } catch (failure) {
    whyMissing = `: \`${command} lsp\`: ${failure instanceof Error ? failure.message : String(failure)}. Build it with ./bootstrap build and set loopsmith.server.path to build/release/bin/loopsmith`;
    // Commands answer before the message is gone.
    void reportMissing('The Loopsmith server did not start');
  }
}

function enabled(feature: 'codeLens' | 'inlayHints'): boolean {
  return vscode.workspace.getConfiguration('loopsmith').get<boolean>(`${feature}.enable`, true);
}

/// The options sent at the start; later changes are sent by `workspace/didChangeConfiguration`.
function options(): object {
  const settings = vscode.workspace.getConfiguration('loopsmith');
  return {
    trusted: vscode.workspace.isTrusted,
    caches: settings.get('caches'),
    peaks: settings.get('peaks'),
    loopHints: settings.get('loopHints'),
    pullDiagnostics: settings.get('pullDiagnostics'),
    tune: { seconds: settings.get('tune.seconds'), trials: settings.get('tune.trials'), target: settings.get('tune.target'), search: settings.get('tune.search'), space: settings.get('tune.space') },
  };
}

function show(state: State): void {
  status.text = state === State.Running ? 'Loopsmith' : state === State.Starting ? '$(sync~spin) Loopsmith' : '$(error) Loopsmith';
  status.tooltip = state === State.Running ? 'Loopsmith is ready' : state === State.Starting ? 'Loopsmith is starting' : 'The Loopsmith server does not run';
  status.show();
}

function showHealth({ health, quiescent, message }: Health): void {
  status.text = `${health === 'error' ? '$(error) ' : health === 'warning' ? '$(warning) ' : quiescent ? '' : '$(sync~spin) '}Loopsmith`;
  status.tooltip = message || (quiescent ? 'Loopsmith is ready' : 'Loopsmith is at work');
  status.backgroundColor = health === 'ok' ? undefined : new vscode.ThemeColor(`statusBarItem.${health}Background`);
}

async function reportMissing(what: string): Promise<void> {
  const [openSettings, startAgain] = ['Open Settings', 'Restart Server'];
  const choice = await vscode.window.showErrorMessage(`${what}${whyMissing}.`, openSettings, startAgain);
  if (choice === openSettings) { await vscode.commands.executeCommand('workbench.action.openSettings', 'loopsmith.server.path'); }
  if (choice === startAgain) { await restart(); }
}
