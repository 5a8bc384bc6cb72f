/** The entry point: a table of the commands, each loaded when it is run. */
import { messageOf } from '#/base/message-of.ts'
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { runCommandLine, type CommandTable } from '#/command-line/command-line.ts'
import { useModulePack } from './module-pack.ts'

const commands: CommandTable = {
  'addon': { summary: 'Enable and disable addons of a cluster', load: () => import('#/commands/addon.ts') },
  'apiserver': { summary: 'Run only an API server', load: () => import('#/commands/apiserver.ts') },
  'certs': {
    summary: 'Check the expiration of certificates and renew them',
    load: () => import('#/commands/certs.ts'),
  },
  'config': {
    summary: 'Show and validate configuration files of init and join',
    load: () => import('#/commands/config.ts'),
  },
  'console': {
    summary: 'Open the web page that shows a cluster',
    load: () => import('#/commands/console.ts'),
  },
  'controller-manager': {
    summary: 'Run only the controllers',
    load: () => import('#/commands/controller-manager.ts'),
  },
  'diff': {
    summary: 'Show what changed between two moments',
    load: () => import('#/commands/diff.ts'),
  },
  'dns': { summary: 'Run only a DNS server of a cluster', load: () => import('#/commands/dns.ts') },
  'down': { summary: 'Remove a cluster with all its data', load: () => import('#/commands/down.ts') },
  'envtest': {
    summary: "Prepare a drop-in for envtest's binaries",
    load: () => import('#/commands/envtest.ts'),
  },
  'generate': {
    summary: 'Generate types or definitions of custom resources',
    load: () => import('#/commands/generate.ts'),
  },
  'get': {
    summary: 'Show objects, also as they were at an earlier moment',
    load: () => import('#/commands/get.ts'),
  },
  'history': {
    summary: 'List the versions of an object',
    load: () => import('#/commands/history.ts'),
  },
  'host': {
    summary: 'Run the processes of this host of a cluster of several machines',
    load: () => import('#/commands/host.ts'),
  },
  'image': { summary: 'Load images into a cluster', load: () => import('#/commands/image.ts') },
  'ingress': {
    summary: 'Run only the Ingress controller with its reverse proxy',
    load: () => import('#/commands/ingress.ts'),
  },
  'init': {
    summary: 'Initialize a control plane on this host',
    load: () => import('#/commands/init.ts'),
  },
  'join': { summary: 'Join this host to a cluster', load: () => import('#/commands/join.ts') },
  'kubeconfig': {
    summary: 'Write kubeconfigs for additional users',
    load: () => import('#/commands/kubeconfig.ts'),
  },
  'kubectl': { summary: 'Access a cluster as with kubectl', load: () => import('#/commands/kubectl.ts') },
  'kubelet': { summary: 'Run only the kubelet of a node', load: () => import('#/commands/kubelet.ts') },
  'node': {
    summary: 'Add nodes to a cluster on this machine, and remove them',
    load: () => import('#/commands/node.ts'),
  },
  'proxy': {
    summary: 'Run only the service proxy and the pod network of a node',
    load: () => import('#/commands/proxy.ts'),
  },
  'reset': { summary: 'Undo init or join on this host', load: () => import('#/commands/reset.ts') },
  'scheduler': { summary: 'Run only the scheduler', load: () => import('#/commands/scheduler.ts') },
  'snapshot': {
    summary: 'Save and restore the objects of a cluster',
    load: () => import('#/commands/snapshot.ts'),
  },
  'status': { summary: 'Show the status of a cluster', load: () => import('#/commands/status.ts') },
  'store': {
    summary: 'Verify, repair and migrate the store of a cluster',
    load: () => import('#/commands/store.ts'),
  },
  'testserver': {
    summary: 'Run a throwaway cluster for tests',
    load: () => import('#/commands/testserver.ts'),
  },
  'token': { summary: 'Manage bootstrap tokens', load: () => import('#/commands/token.ts') },
  'trace': {
    summary: 'Show what a change caused, and explain scheduling decisions',
    load: () => import('#/commands/trace.ts'),
  },
  'undo': {
    summary: 'Restore an earlier version of an object',
    load: () => import('#/commands/undo.ts'),
  },
  'upgrade': {
    summary: 'Upgrade a running cluster to this version',
    load: () => import('#/commands/upgrade.ts'),
  },
  'up': { summary: 'Run a cluster on this machine', load: () => import('#/commands/up.ts') },
  'version': { summary: 'Show the version', load: () => import('#/commands/version.ts') },
  'why': {
    summary: 'Explain why an object is not ready or not gone',
    load: () => import('#/commands/why.ts'),
  },
}

// Loading code dominates the startup time. When the folder is not writable, code is compiled on every start.
enableCompileCache(fileURLToPath(new URL('../.cache/compiled', import.meta.url)))

const { K8TS_MODULE_PACK: modulePack } = process.env
if (modulePack) useModulePack({ path: modulePack, root: new URL('./', import.meta.url).href })

// The reader of a pipe may exit first (k8ts up | head -1): stop in an orderly way, as on SIGTERM, and print nothing.
process.stdout.once('error', (error: NodeJS.ErrnoException) => {
  process.stdout.on('error', () => undefined)
  if (error.code !== 'EPIPE') throw error
  if (process.listenerCount('SIGTERM') > 0) process.kill(process.pid, 'SIGTERM')
  else process.exit(0)
})

process.exitCode = await run()
// Exits after the output has been flushed, even if a failed command has left something running.
process.stdout.write('', () => process.stderr.write('', () => process.exit()))

async function run(): Promise<number> {
  try {
    return await runCommandLine(commands, process.argv.slice(2), {
      write: text => void process.stdout.write(text),
      writeError: text => void process.stderr.write(text),
    })
  } catch (error) {
    process.stderr.write(`k8ts: ${messageOf(error)}\n`)
    return 1
  }
}
