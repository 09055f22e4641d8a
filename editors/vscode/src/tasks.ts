// Tasks for `loopsmith build` and `loopsmith check`, in the task list and in tasks.json as type `loopsmith`. The matcher `$loopsmith`
// shows their diagnostics in the Problems panel.
import * as vscode from 'vscode';

interface Definition extends vscode.TaskDefinition {
  command: 'build' | 'check' | 'fmt' | 'script';
  arguments?: string[];
}

const offered: { name: string; definition: Definition; group?: vscode.TaskGroup }[] = [
  { name: 'build all kernels of the folder', definition: { type: 'loopsmith', command: 'build', arguments: ['.', '-o', 'build'] }, group: vscode.TaskGroup.Build },
  { name: 'check the current file', definition: { type: 'loopsmith', command: 'check', arguments: ['${file}'] }, group: vscode.TaskGroup.Test },
  { name: 'run the current file as a build script', definition: { type: 'loopsmith', command: 'script', arguments: ['${file}'] } },
];

function taskOf(definition: Definition, scope: vscode.WorkspaceFolder | vscode.TaskScope, name: string): vscode.Task {
  const program = vscode.workspace.getConfiguration('loopsmith').get<string>('server.path') || 'loopsmith';
  const execution = new vscode.ProcessExecution(program, [definition.command, ...definition.arguments ?? []]);
  return new vscode.Task(definition, scope, name, 'loopsmith', execution, '$loopsmith');
}

export function registerTasks(): vscode.Disposable {
  return vscode.tasks.registerTaskProvider('loopsmith', {
    provideTasks: () => (vscode.workspace.workspaceFolders ?? []).flatMap((folder) => offered.map(({ name, definition, group }) => {
      const task = taskOf(definition, folder, name);
      task.group = group;
      return task;
    })),
    resolveTask: (task) => taskOf(task.definition as Definition, task.scope as vscode.WorkspaceFolder | vscode.TaskScope ?? vscode.TaskScope.Workspace, task.name),
  });
}
