/** `k8ts envtest`: a drop-in for the binaries of controller-runtime's envtest. */
import { resolve } from 'node:path'
import { describeFlags, parseFlags, valueFlag } from '#/base/flags.ts'
import type { Command, Terminal } from '#/command-line/command.ts'
import { nodePlatform } from '#/platform/node.ts'

const envtestFlags = {
  dir: valueFlag('DIR', 'folder to use instead of one in ~/.cache/k8ts/envtest', {
    parse: (given: string) => resolve(given),
    what: 'a folder',
  }),
}

const help = `Usage: k8ts envtest [--dir DIR]

Prints a folder with the executables kube-apiserver, etcd and kubectl, for the environment variable KUBEBUILDER_ASSETS
of controller-runtime's envtest. The folder is created when it is missing, which takes a few seconds.

kube-apiserver is the API server of k8ts with all objects in memory. etcd only answers the health checks that envtest
waits for. kubectl runs the kubectl of PATH.

The environment variable K8TS_ENVTEST of the tests adds components to kube-apiserver, as a comma-separated list:
  controllers   the controllers of kube-controller-manager: garbage collection, Deployments, Jobs, namespaces, ...
  scheduler     the scheduler
  nodes=N       N simulated nodes, which run pods without containers; requires controllers

${describeFlags(envtestFlags)}
Examples:
  KUBEBUILDER_ASSETS=$(k8ts envtest) go test ./...
      runs tests that use envtest
  KUBEBUILDER_ASSETS=$(k8ts envtest) K8TS_ENVTEST=controllers,scheduler,nodes=3 go test ./...
      the same with controllers, scheduler and three nodes, so that a Deployment gets running pods
  $(k8ts envtest)/kube-apiserver --help
      lists the flags of the API server
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const [program = '', folder = '', ...rest] = parameters
    if (Object.hasOwn(programs, program)) return programs[program]!(rest, terminal, folder)
    const { ensureAssetsFolder, defaultAssetsFolder } = await import('./envtest/assets-folder.ts')
    const assets = parseFlags(parameters, envtestFlags).dir ?? defaultAssetsFolder()
    await ensureAssetsFolder(nodePlatform({ log: { level: 'warn', format: 'text' } }), assets)
    terminal.write(`${assets}\n`)
    return 0
  },
}

type RunProgram = (parameters: readonly string[], terminal: Terminal, folder: string) => Promise<number>

/** What the executables of the folder run: `k8ts envtest PROGRAM FOLDER PARAMETERS`. */
const programs: Readonly<Record<string, RunProgram>> = {
  'etcd': async (parameters, terminal) => {
    const { runEtcd } = await import('./envtest/etcd.ts')
    return runEtcd(parameters, terminal)
  },
  'kube-apiserver': async (parameters, terminal, folder) => {
    const { runKubeApiServer } = await import('./envtest/kube-apiserver.ts')
    return runKubeApiServer(parameters, terminal, folder)
  },
}
