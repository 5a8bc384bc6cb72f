/** The commands of kubectl, each loaded when it is run. */
import type { Command } from './command.ts'

export type CommandTable = Readonly<Record<string, CommandEntry>>

export interface CommandEntry {
  /** One line for the list of commands. */
  readonly summary: string
  readonly group?: CommandGroup
  readonly aliases?: readonly string[]
  readonly hidden?: boolean
  readonly load: () => Promise<{ readonly command: Command }>
}

export const pluginGroup = 'Subcommands provided by plugins'

/** In the order of the help. */
export const commandGroups = [
  'Basic Commands (Beginner)',
  'Basic Commands (Intermediate)',
  'Deploy Commands',
  'Cluster Management Commands',
  'Troubleshooting and Debugging Commands',
  'Advanced Commands',
  'Settings Commands',
  pluginGroup,
  'Other Commands',
] as const

type CommandGroup = (typeof commandGroups)[number]

export const commands: CommandTable = {
  'create': {
    summary: 'Create a resource from a file or from stdin',
    group: 'Basic Commands (Beginner)',
    load: () => import('./commands/create.ts'),
  },
  'expose': {
    summary: 'Create a service for a replication controller, service, deployment or pod',
    group: 'Basic Commands (Beginner)',
    load: () => import('./commands/expose.ts'),
  },
  'run': {
    summary: 'Run an image on the cluster',
    group: 'Basic Commands (Beginner)',
    load: () => import('./commands/run.ts'),
  },
  'set': {
    summary: 'Set features of objects',
    group: 'Basic Commands (Beginner)',
    load: () => import('./commands/set.ts'),
  },
  'explain': {
    summary: 'Show the documentation of a resource',
    group: 'Basic Commands (Intermediate)',
    load: () => import('./commands/explain.ts'),
  },
  'get': {
    summary: 'Show one or many resources',
    group: 'Basic Commands (Intermediate)',
    load: () => import('./commands/get.ts'),
  },
  'edit': {
    summary: 'Edit a resource on the server',
    group: 'Basic Commands (Intermediate)',
    load: () => import('./commands/edit.ts'),
  },
  'delete': {
    summary: 'Delete resources by file, stdin, name or label selector',
    group: 'Basic Commands (Intermediate)',
    load: () => import('./commands/delete.ts'),
  },
  'rollout': {
    summary: 'Manage the rollout of a resource',
    group: 'Deploy Commands',
    load: () => import('./commands/rollout.ts'),
  },
  'scale': {
    summary: 'Set the number of replicas of a workload',
    group: 'Deploy Commands',
    load: () => import('./commands/scale.ts'),
  },
  'autoscale': {
    summary: 'Create a horizontal pod autoscaler for a workload',
    group: 'Deploy Commands',
    load: () => import('./commands/autoscale.ts'),
  },
  'certificate': {
    summary: 'Approve and deny certificate signing requests',
    group: 'Cluster Management Commands',
    load: () => import('./commands/certificate.ts'),
  },
  'cluster-info': {
    summary: 'Show the addresses of the control plane and services',
    group: 'Cluster Management Commands',
    load: () => import('./commands/cluster-info.ts'),
  },
  'top': {
    summary: 'Show CPU and memory usage',
    group: 'Cluster Management Commands',
    load: () => import('./commands/top.ts'),
  },
  'cordon': {
    summary: 'Mark a node as unschedulable',
    group: 'Cluster Management Commands',
    load: () => import('./commands/cordon.ts'),
  },
  'uncordon': {
    summary: 'Mark a node as schedulable',
    group: 'Cluster Management Commands',
    load: () => import('./commands/uncordon.ts'),
  },
  'drain': {
    summary: 'Drain a node before maintenance',
    group: 'Cluster Management Commands',
    load: () => import('./commands/drain.ts'),
  },
  'taint': {
    summary: 'Update the taints of nodes',
    group: 'Cluster Management Commands',
    load: () => import('./commands/taint.ts'),
  },
  'describe': {
    summary: 'Show details of resources',
    group: 'Troubleshooting and Debugging Commands',
    load: () => import('./commands/describe.ts'),
  },
  'logs': {
    summary: 'Print the logs of containers',
    group: 'Troubleshooting and Debugging Commands',
    load: () => import('./commands/logs.ts'),
  },
  'attach': {
    summary: 'Attach to a running container',
    group: 'Troubleshooting and Debugging Commands',
    load: () => import('./commands/attach.ts'),
  },
  'exec': {
    summary: 'Execute a command in a container',
    group: 'Troubleshooting and Debugging Commands',
    load: () => import('./commands/exec.ts'),
  },
  'port-forward': {
    summary: 'Forward local ports to a pod',
    group: 'Troubleshooting and Debugging Commands',
    load: () => import('./commands/port-forward.ts'),
  },
  'proxy': {
    summary: 'Run a proxy to the API server',
    group: 'Troubleshooting and Debugging Commands',
    load: () => import('./commands/proxy.ts'),
  },
  'cp': {
    summary: 'Copy files to and from containers',
    group: 'Troubleshooting and Debugging Commands',
    load: () => import('./commands/cp.ts'),
  },
  'auth': {
    summary: 'Inspect authorization',
    group: 'Troubleshooting and Debugging Commands',
    load: () => import('./commands/auth.ts'),
  },
  'debug': {
    summary: 'Debug workloads and nodes',
    group: 'Troubleshooting and Debugging Commands',
    load: () => import('./commands/debug.ts'),
  },
  'events': {
    summary: 'List events',
    group: 'Troubleshooting and Debugging Commands',
    load: () => import('./commands/events.ts'),
  },
  'diff': {
    summary: 'Show what apply would change',
    group: 'Advanced Commands',
    load: () => import('./commands/diff.ts'),
  },
  'apply': {
    summary: 'Apply a configuration to a resource by file or stdin',
    group: 'Advanced Commands',
    load: () => import('./commands/apply.ts'),
  },
  'patch': {
    summary: 'Update fields of a resource',
    group: 'Advanced Commands',
    load: () => import('./commands/patch.ts'),
  },
  'replace': {
    summary: 'Replace a resource by file or stdin',
    group: 'Advanced Commands',
    load: () => import('./commands/replace.ts'),
  },
  'wait': {
    summary: 'Wait for a condition of resources',
    group: 'Advanced Commands',
    load: () => import('./commands/wait.ts'),
  },
  'kustomize': {
    summary: 'Build a kustomization',
    group: 'Advanced Commands',
    load: () => import('./commands/kustomize.ts'),
  },
  'label': {
    summary: 'Update the labels of a resource',
    group: 'Settings Commands',
    load: () => import('./commands/label.ts'),
  },
  'annotate': {
    summary: 'Update the annotations of a resource',
    group: 'Settings Commands',
    load: () => import('./commands/annotate.ts'),
  },
  'completion': {
    summary: 'Print shell completion code (bash, zsh, fish or powershell)',
    group: 'Settings Commands',
    load: () => import('./commands/completion.ts'),
  },
  'api-resources': {
    summary: 'List the API resources of the server',
    group: 'Other Commands',
    load: () => import('./commands/api-resources.ts'),
  },
  'api-versions': {
    summary: 'List the API versions of the server, as group/version',
    group: 'Other Commands',
    load: () => import('./commands/api-versions.ts'),
  },
  'config': {
    summary: 'Modify kubeconfig files',
    group: 'Other Commands',
    load: () => import('./commands/config.ts'),
  },
  'kuberc': {
    summary: 'Manage kuberc files',
    group: 'Other Commands',
    load: () => import('./commands/kuberc.ts'),
  },
  'plugin': {
    summary: 'List plugins',
    group: 'Other Commands',
    load: () => import('./commands/plugin.ts'),
  },
  'version': {
    summary: 'Show the versions of client and server',
    group: 'Other Commands',
    load: () => import('./commands/version.ts'),
  },
  'alpha': {
    summary: 'Commands for features in alpha',
    hidden: true,
    load: () => import('./commands/alpha.ts'),
  },
  'options': {
    summary: 'List the flags of all commands',
    hidden: true,
    load: () => import('./commands/options.ts'),
  },
}
