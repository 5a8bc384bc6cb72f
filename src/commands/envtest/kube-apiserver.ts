/**
 * The `kube-apiserver` of the folder for envtest: an API server on the memory store, started with the flags of
 * kube-apiserver. The environment variable K8TS_ENVTEST adds controllers, scheduler and nodes.
 */
import { join, resolve } from 'node:path'
import { parseIp } from '#/api/net/ip.ts'
import { apiServerFlags, describeApiServerFlags } from '#/apiserver/flags.ts'
import { gitVersion } from '#/apiserver/discovery.ts'
import { describeFlags, parseFlags, UsageError, valueFlag, type Flag, type FlagValues } from '#/base/flags.ts'
import type { Terminal } from '#/command-line/command.ts'
import type { KeyAndCertificate } from '#/kubeadm/certificates.ts'
import { environmentVariables, nodePlatform } from '#/platform/node.ts'
import type { Files } from '#/platform/platform.ts'
import { runCluster } from '../run-cluster.ts'
import { verbosityFlag } from '../verbosity.ts'
import { flagsWithoutEffect } from './flags-without-effect.ts'
import manifest from '../../../package.json' with { type: 'json' }
import { controlPlaneOf, parseTestComponents } from './test-components.ts'

const path = { parse: (given: string) => (given === '' ? '' : resolve(given)), what: 'a path' }

const servingFlags = {
  'bind-address': valueFlag('ADDRESS', 'address to listen on (0.0.0.0)', {
    parse: given => (parseIp(given) === undefined ? undefined : given),
    what: 'an address',
  }),
  'secure-port': valueFlag('N', 'port to listen on (6443)', {
    parse: given => (/^\d{1,5}$/.test(given) && Number(given) < 2 ** 16 ? Number(given) : undefined),
    what: 'a port',
  }),
  'tls-cert-file': valueFlag('FILE', 'serving certificate', path),
  'tls-private-key-file': valueFlag('FILE', 'private key of --tls-cert-file', path),
  'cert-dir': valueFlag(
    'DIR',
    'folder of apiserver.crt and apiserver.key, if --tls-cert-file is not set',
    path,
  ),
  ...verbosityFlag,
}

/** Flags without effect of which envtest itself sets some in every start. */
const setByEnvtest = new Set(['allow-privileged', 'etcd-servers'])

/** Programs name features and versions that this server does not have: those have no effect. */
const lenientFlags = {
  'feature-gates': withoutUnknown(apiServerFlags['feature-gates']),
  'runtime-config': withoutUnknown(apiServerFlags['runtime-config']),
}

const flagTable = { ...flagsWithoutEffect(), ...servingFlags, ...apiServerFlags, ...lenientFlags }

function withoutUnknown<T>(flag: Flag<readonly T[]>): Flag<readonly T[]> {
  const read = (word: string): readonly T[] => {
    try {
      return flag.read([word])
    } catch {
      return []
    }
  }
  return { ...flag, read: texts => texts.flatMap(text => text.split(',')).flatMap(read) }
}

type KubeApiServerFlags = FlagValues<typeof servingFlags & typeof apiServerFlags>

/** Also answers `kube-apiserver --help`, which envtest reads to find out which flags there are. */
export const kubeApiServerHelp = `Usage: kube-apiserver [FLAGS]

The API server of k8ts for envtest: it accepts the flags of kube-apiserver and serves the same API. All objects are in
memory and are lost when it stops; etcd is not used.

K8TS_ENVTEST=controllers,scheduler,nodes=3 in the environment adds controllers, the scheduler and simulated nodes. The
server is healthy when the nodes are ready.

Secure serving:
${describeFlags(servingFlags)}${describeApiServerFlags()}
The following flags of kube-apiserver are accepted and have no effect:
${describeFlags(flagsWithoutEffect())}`

/** Runs until terminated. `folder` has the certificates of the cluster. */
export async function runKubeApiServer(
  parameters: readonly string[],
  terminal: Terminal,
  folder: string,
): Promise<number> {
  if (parameters.some(word => /^--version(?:=true)?$/.test(word))) {
    terminal.write(`Kubernetes ${gitVersion(manifest)}\n`)
    return 0
  }
  try {
    const given = parseFlags(parameters, flagTable)
    const ignored = Object.keys(given).filter(name => name in flagsWithoutEffect())
    const reported = ignored.filter(name => !setByEnvtest.has(name))
    if (reported.length > 0)
      terminal.writeError(`kube-apiserver: flags without effect: ${reported.join(', ')}\n`)
    const controlPlane = readComponents()
    const effective = withoutKeys(given, ignored)
    const flags = completeFlags(effective, controlPlane?.nodes.type === 'simulated')
    const { files } = nodePlatform({ log: { level: 'error', format: 'text' } })
    return await runCluster(terminal, {
      flags: {
        ...flags,
        'data-dir': folder,
        'bind': flags['bind-address'] ?? '0.0.0.0',
        'port': flags['secure-port'] ?? 6443,
        'store': { type: 'memory' },
      },
      isFolderShared: true,
      servingCertificate: await readServingCertificate(files, flags, folder),
      ...(controlPlane && { controlPlane }),
    })
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    // envtest's users look for the name of the program and not for that of k8ts.
    terminal.writeError(`kube-apiserver: ${error.message}\n`)
    return 1
  }
}

/**
 * Adds the defaults of kube-apiserver where those of a cluster of k8ts differ. envtest enables only RBAC, which
 * gives no rights to kubelets; nodes need the Node authorizer too.
 */
export function completeFlags(flags: KubeApiServerFlags, hasNodes: boolean): KubeApiServerFlags {
  const { 'authorization-config': authorizationConfig, 'authorization-mode': given = ['AlwaysAllow'] } = flags
  const modes = hasNodes && !given.includes('Node') ? ['Node', ...given] : given
  return {
    'enable-bootstrap-token-auth': false,
    'service-cluster-ip-range': '10.0.0.0/24',
    ...flags,
    ...(!authorizationConfig && { 'authorization-mode': modes }),
  }
}

/** `runCluster` has flags of the same names, such as --etcd-servers. */
function withoutKeys<T extends object>(flags: T, names: readonly string[]): T {
  return Object.fromEntries(Object.entries(flags).filter(([name]) => !names.includes(name))) as T
}

function readComponents(): ReturnType<typeof controlPlaneOf> {
  const { K8TS_ENVTEST: text = '' } = environmentVariables()
  try {
    return controlPlaneOf(parseTestComponents(text))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(`K8TS_ENVTEST=${text}: ${error.message}`, { cause: error })
  }
}

/** Without flags, and with a `--cert-dir` that is still empty, that of the cluster. */
async function readServingCertificate(
  files: Files,
  flags: KubeApiServerFlags,
  folder: string,
): Promise<KeyAndCertificate> {
  const { 'tls-cert-file': certFile, 'tls-private-key-file': keyFile, 'cert-dir': certDir } = flags
  if (!certFile !== !keyFile) {
    throw new UsageError('--tls-cert-file and --tls-private-key-file must be specified together')
  }
  const own = pairIn(join(folder, 'pki'))
  const inCertDir = certDir ? pairIn(certDir) : own
  const pair =
    certFile && keyFile
      ? { cert: certFile, key: keyFile }
      : (await files.stat(inCertDir.cert)) && (await files.stat(inCertDir.key))
        ? inCertDir
        : own
  return { cert: await readText(files, pair.cert), key: await readText(files, pair.key) }
}

/** Paths. */
function pairIn(folder: string): KeyAndCertificate {
  return { cert: join(folder, 'apiserver.crt'), key: join(folder, 'apiserver.key') }
}

async function readText(files: Files, file: string): Promise<string> {
  try {
    return Buffer.from(await files.read(file)).toString()
  } catch (cause) {
    throw new UsageError(`cannot read ${file}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    })
  }
}
