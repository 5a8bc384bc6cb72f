/**
 * The `kube-apiserver` of the folder for envtest: an API server on the memory store, started with the flags of
 * kube-apiserver. The environment variable K8TS_ENVTEST adds controllers, scheduler and nodes.
 */
import { join, resolve } from 'node:path'
import { parseIp } from '#/api/net/ip.ts'
import { apiServerFlags, describeApiServerFlags } from '#/apiserver/flags.ts'
import { gitVersion } from '#/apiserver/discovery.ts'
import {
  describeFlags,
  integerFlag,
  parseFlags,
  UsageError,
  valueFlag,
  type FlagValues,
} from '#/base/flags.ts'
import type { Terminal } from '#/command-line/command.ts'
import type { KeyAndCertificate } from '#/kubeadm/certificates.ts'
import { environmentVariables, nodePlatform } from '#/platform/node.ts'
import type { Files } from '#/platform/platform.ts'
import { runCluster } from '../run-cluster.ts'
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
  'v': integerFlag('N', 'log verbosity: 0 warnings (default), 2 info, 4 debug'),
}

/** Flags without effect of which envtest itself sets some in every start. */
const setByEnvtest = new Set(['allow-privileged', 'etcd-servers'])

const flagTable = { ...flagsWithoutEffect(), ...servingFlags, ...apiServerFlags }

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
    const ignored = Object.keys(given).filter(name => name in flagsWithoutEffect() && !setByEnvtest.has(name))
    if (ignored.length > 0)
      terminal.writeError(`kube-apiserver: flags without effect: ${ignored.join(', ')}\n`)
    const controlPlane = readComponents()
    const flags = completeFlags(given, controlPlane?.nodes.type === 'simulated')
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
