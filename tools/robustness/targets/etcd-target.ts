/** Two API servers that share three etcd members. */
import { execFile, execFileSync } from 'node:child_process'
import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Fault, MissingFault } from '../faults.ts'
import { apiServerProcess, kubeconfigOf } from './api-server.ts'
import { freePorts } from './free-ports.ts'
import { HostNetwork, loopbackHosts, type Host } from '../../../tests/hosts/host-network.ts'
import { draw, killFault, missingSyncFaults, stopFault, syncFaults } from './process-faults.ts'
import { ServerProcess } from './server-process.ts'
import type { Target, TargetOptions } from './target.ts'

const memberCount = 3
const apiServerCount = 2

export function isEtcdInstalled(): boolean {
  try {
    execFileSync('etcd', ['--version'], { stdio: 'ignore', env: environment })
    execFileSync('etcdctl', ['version'], { stdio: 'ignore', env: environment })
    return true
  } catch {
    return false
  }
}

const environment = { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch, ETCDCTL_API: '3' }

export async function startEtcdTarget(options: TargetOptions): Promise<Target> {
  const { folder, isIsolated } = options
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const count = memberCount + apiServerCount
  const network = isIsolated ? stack.use(await HostNetwork.create({ count, bridge: 'here' })) : undefined
  const hosts = network?.hosts ?? loopbackHosts(count)
  const memberHosts = hosts.slice(0, memberCount)
  const serverHosts = hosts.slice(memberCount)
  const [clientPort = 0, peerPort = 0, apiPort = 0] = await freePorts('127.0.0.1', 3)
  const members = memberHosts.map((host, index) => {
    return stack.use(memberProcess({ ...options, hosts: memberHosts, host, index, clientPort, peerPort }))
  })
  await Promise.all(members.map(member => member.start()))
  const store = `etcd://${memberHosts.map(({ address }) => `${address}:${clientPort}`).join(',')}`
  const folders = serverHosts.map((_, index) => join(folder, `apiserver-${index}`))
  const servers = serverHosts.map((host, index) => {
    return stack.use(
      apiServerProcess({
        name: `apiserver-${index}`,
        command: index === 0 ? 'up' : 'apiserver',
        folder: folders[index]!,
        logFolder: options.logFolder,
        ...host,
        port: apiPort,
        store,
      }),
    )
  })
  await servers[0]!.start()
  for (const [index, server] of servers.entries()) {
    if (index === 0) continue
    await mkdir(folders[index]!, { mode: 0o700 })
    await sharePki(folders[0]!, folders[index]!)
    await server.start()
  }
  const started = stack.move()
  return {
    kubeconfigs: folders.map(kubeconfigOf),
    faults: [
      killFault('kill', servers),
      stopFault('stop', servers),
      killFault('kill-member', members),
      stopFault('stop-member', members),
      ...(network ? [partition(network, { memberHosts, serverHosts })] : []),
      ...syncFaults('member', members),
    ],
    missingFaults: [missingDisk, ...(isIsolated ? [] : [missingPartition]), ...missingSyncFaults()],
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** The authorities and keys that API servers of one cluster share; certificates for the address are its own. */
async function sharePki(from: string, to: string): Promise<void> {
  const filter = (path: string): boolean => !/\/apiserver\.(crt|key)$/.test(path)
  await cp(join(from, 'pki'), join(to, 'pki'), { recursive: true, filter })
}

const missingDisk: MissingFault = { kind: 'full-disk', reason: 'only for the embedded store' }
const missingPartition: MissingFault = { kind: 'partition', reason: 'network namespaces need root' }

interface MemberOptions extends TargetOptions {
  readonly hosts: readonly Host[]
  readonly host: Host
  readonly index: number
  readonly clientPort: number
  readonly peerPort: number
}

function memberProcess(options: MemberOptions): ServerProcess {
  const { folder, logFolder, hosts, host, index, clientPort, peerPort } = options
  const peerUrl = ({ address }: Host): string => `http://${address}:${peerPort}`
  const endpoint = `http://${host.address}:${clientPort}`
  const flags = {
    'name': `m${index}`,
    'data-dir': join(folder, `member-${index}`),
    'listen-client-urls': endpoint,
    'advertise-client-urls': endpoint,
    'listen-peer-urls': peerUrl(host),
    'initial-advertise-peer-urls': peerUrl(host),
    'initial-cluster': hosts.map((each, number) => `m${number}=${peerUrl(each)}`).join(','),
    'log-level': 'warn',
  }
  return new ServerProcess({
    name: `etcd-${index}`,
    command: [...host.prefix, 'etcd', ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`)],
    environment: { ETCD_UNSUPPORTED_ARCH: process.arch },
    logFile: join(logFolder, `etcd-${index}.log`),
    isReady: () => isHealthy(endpoint),
  })
}

/** True if the member has a quorum. */
async function isHealthy(endpoint: string): Promise<boolean> {
  try {
    const command = [`--endpoints=${endpoint}`, '--command-timeout=2s', 'endpoint', 'health']
    await promisify(execFile)('etcdctl', command, { env: environment })
    return true
  } catch {
    return false
  }
}

interface Groups {
  readonly memberHosts: readonly Host[]
  readonly serverHosts: readonly Host[]
}

/** Four kinds: a member without its peers, or without all; an API server without one member, or without all. */
function partition(network: HostNetwork, { memberHosts, serverHosts }: Groups): Fault {
  return {
    kind: 'partition',
    parts: ['network'],
    inject: async random => {
      const member = draw(memberHosts, random)
      const server = draw(serverHosts, random)
      const peers = memberHosts.filter(host => host !== member)
      const cuts: readonly (readonly [readonly Host[], readonly Host[]])[] = [
        [[member], peers],
        [[member], [...peers, ...serverHosts]],
        [[server], [member]],
        [[server], memberHosts],
      ]
      await network.cut(...draw(cuts, random))
      return () => network.heal()
    },
  }
}
