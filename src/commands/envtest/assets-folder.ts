/** The folder with the executables that envtest starts, for the environment variable KUBEBUILDER_ASSETS. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { ensureClusterCertificates } from '#/kubeadm/certificates.ts'
import {
  environmentVariables,
  homeFolder,
  nodeCrypto,
  programCommand,
  programPaths,
} from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import { etcdHelp } from './etcd.ts'
import { kubeApiServerHelp } from './kube-apiserver.ts'

/** In the user's cache. Each installation of k8ts has its own, because the executables contain its path. */
export function defaultAssetsFolder(): string {
  const { XDG_CACHE_HOME: cache } = environmentVariables()
  const installation = createHash('sha256').update(programCommand().join('\0')).digest('hex').slice(0, 12)
  return join(cache || join(homeFolder(), '.cache'), 'k8ts', 'envtest', installation)
}

/** Creates the executables, or replaces those of another version. */
export async function ensureAssetsFolder(platform: Platform, folder: string): Promise<void> {
  const { files } = platform
  const pki = join(folder, 'pki')
  await files.makeFolder(folder, { mode: 0o700 })
  await ensureClusterCertificates({ platform, crypto: nodeCrypto(), folder: pki, serverNames: [] })
  const executables = [
    ['etcd', launcher({ program: 'etcd', folder, help: etcdHelp })],
    ['kube-apiserver', launcher({ program: 'kube-apiserver', folder, help: kubeApiServerHelp })],
    ['kubectl', kubectlScript()],
  ] as const
  for (const [name, script] of executables) await ensureExecutable(platform, join(folder, name), script)
  await runOnce(platform, { folder, program: 'etcd', flags: ['--listen-client-urls=http://127.0.0.1:0'] })
  const flags = ['--bind-address=127.0.0.1', '--secure-port=0']
  await runOnce(platform, { folder, program: 'kube-apiserver', flags })
}

interface ProgramRun {
  readonly folder: string
  readonly program: string
  readonly flags: readonly string[]
}

/** Runs a program until it is ready, unless that was done before: its code is compiled before the first test. */
async function runOnce(
  { files, processes }: Platform,
  { folder, program, flags }: ProgramRun,
): Promise<void> {
  if (await files.stat(modulePack(folder, program))) return
  const child = await processes.start([join(folder, program), ...flags])
  let output = ''
  const isReady = new Promise<void>(resolve => {
    child.stdout.on('data', piece => {
      output += String(piece)
      if (/^ready\b/m.test(output)) resolve()
    })
  })
  child.stderr.on('data', piece => (output += String(piece)))
  await Promise.race([isReady, child.exited])
  child.kill('SIGTERM')
  const exit = await child.exited
  if (!('code' in exit) || exit.code !== 0) throw new Error(`cannot run ${program}: ${output}`)
}

function modulePack(folder: string, program: string): string {
  return join(folder, `${program}.modules`)
}

async function ensureExecutable({ files }: Platform, path: string, script: string): Promise<void> {
  const isCurrent = (await files.stat(path)) && Buffer.from(await files.read(path)).toString() === script
  if (!isCurrent) await files.write(path, script, { mode: 0o755 })
}

interface Launcher {
  readonly program: string
  readonly folder: string
  readonly help: string
}

/** Most objects of a start stay; with a small young generation, they are copied several times. */
const semiSpace = '--max-semi-space-size=32'

/** Answers `--help` itself, because envtest asks for it before every start. */
function launcher({ program, folder, help }: Launcher): string {
  const [node = '', ...main] = programCommand()
  const command = [node, semiSpace, ...main, 'envtest', program, folder]
  return `#!/bin/sh
# Written by k8ts envtest.
case " $* " in
  *' --help '* | *' -h '*)
    cat <<'END'
${help}END
    exit
    ;;
esac
export NODE_COMPILE_CACHE=${shellQuote(join(folder, 'compiled'))}
export K8TS_MODULE_PACK=${shellQuote(modulePack(folder, program))}
exec ${command.map(shellQuote).join(' ')} "$@"
`
}

function kubectlScript(): string {
  return `#!/bin/sh
# Written by k8ts envtest.
exec ${shellQuote(join(programPaths().root, 'kubectl'))} "$@"
`
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
