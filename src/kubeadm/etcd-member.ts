/**
 * The process of an etcd member on a control plane host ("stacked etcd"): its command line and its URLs, with kubeadm's
 * ports, files and flags. `extraArgs` of the configuration replace flags of the same name.
 */
import { join } from 'node:path'
import type { Arg, LocalEtcd } from './configuration.ts'
import type { EtcdProgram } from './etcd-program.ts'
import { joinHostPort } from './init-settings.ts'

export interface EtcdMemberOptions {
  readonly program: Pick<EtcdProgram, 'flags' | 'environment'>
  /** The name of the node is the name of the member. */
  readonly nodeName: string
  /** By which other members and API servers reach this host. */
  readonly advertiseAddress: string
  /** The folder of all certificates of the cluster. */
  readonly certificatesDir: string
  /** The folder of the host, which has the data by default. */
  readonly folder: string
  readonly local: LocalEtcd
  /** All members with their peer URLs, from `joinEtcdCluster`. Absent for the first member of a new cluster. */
  readonly initialCluster?: string | undefined
  readonly ports?: EtcdPorts | undefined
}

export interface EtcdPorts {
  readonly client: number
  readonly peer: number
  readonly metrics: number
}

export const etcdPorts: EtcdPorts = { client: 2379, peer: 2380, metrics: 2381 }

export interface EtcdMemberPlan {
  readonly name: string
  /** The program and its flags. */
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly dataDir: string
  /** By which clients on this host reach the member. */
  readonly localUrl: string
  /** By which other hosts reach it. */
  readonly clientUrl: string
  readonly peerUrls: readonly string[]
  /** `/metrics` and `/health`, without TLS and authentication, on the loopback interface. */
  readonly metricsUrl: string
}

/**
 * The command for `initialCluster`, which is known only after the cluster has this member: its name, URLs and data
 * folder are the same with and without it.
 */
export function planEtcdMember(options: EtcdMemberOptions): EtcdMemberPlan {
  const { program, initialCluster, local } = options
  const extraArgs = local.extraArgs ?? []
  const own = withExtraArgs({ ...memberFlags(options), ...versionedFlags(program.flags) }, extraArgs)
  const name = valueOf(own, 'name')
  const peerUrls = valueOf(own, 'initial-advertise-peer-urls').split(',')
  const isNew = initialCluster === undefined
  const cluster = withExtraArgs(
    {
      'initial-cluster': isNew ? peerUrls.map(url => `${name}=${url}`).join(',') : initialCluster,
      'initial-cluster-state': isNew ? 'new' : 'existing',
    },
    extraArgs.filter(arg => arg.name?.startsWith('initial-cluster')),
  )
  const first = (flag: string): string => valueOf(own, flag).split(',')[0]!
  return {
    name,
    command: [
      'etcd',
      ...[...own.filter(([each]) => !cluster.some(([other]) => other === each)), ...cluster].map(
        ([flag, value]) => `--${flag}=${value}`,
      ),
    ],
    environment: program.environment,
    dataDir: valueOf(own, 'data-dir'),
    localUrl: first('listen-client-urls'),
    clientUrl: first('advertise-client-urls'),
    peerUrls,
    metricsUrl: first('listen-metrics-urls'),
  }
}

/** Heartbeats and elections have etcd's defaults. */
function memberFlags(options: EtcdMemberOptions): Readonly<Record<string, string>> {
  const { nodeName, advertiseAddress, certificatesDir, folder, local, ports = etcdPorts } = options
  const loopback = advertiseAddress.includes(':') ? '::1' : '127.0.0.1'
  const clientUrl = `https://${joinHostPort(advertiseAddress, ports.client)}`
  const localUrl = `https://${joinHostPort(loopback, ports.client)}`
  const peerUrl = `https://${joinHostPort(advertiseAddress, ports.peer)}`
  const file = (name: string): string => join(certificatesDir, 'etcd', name)
  return {
    'name': nodeName,
    'data-dir': local.dataDir ?? join(folder, 'etcd'),
    'listen-client-urls': [...new Set([localUrl, clientUrl])].join(','),
    'advertise-client-urls': clientUrl,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'listen-metrics-urls': `http://${joinHostPort(loopback, ports.metrics)}`,
    'initial-cluster-token': 'etcd-cluster',
    'cert-file': file('server.crt'),
    'key-file': file('server.key'),
    'trusted-ca-file': file('ca.crt'),
    'client-cert-auth': 'true',
    'peer-cert-file': file('peer.crt'),
    'peer-key-file': file('peer.key'),
    'peer-trusted-ca-file': file('ca.crt'),
    'peer-client-cert-auth': 'true',
    'snapshot-count': '10000',
    'quota-backend-bytes': String(quotaBytes),
    // The API server compacts.
    'auto-compaction-retention': '0',
    // etcd 3.4 would write to the journal when systemd has started it, in a format of its own.
    'logger': 'zap',
    'log-outputs': 'stderr',
  }
}

/** etcd's default, written out: at this size it rejects writes. */
const quotaBytes = 2 * 1024 ** 3

/** Flags whose name depends on the version of etcd: the newest that it has. */
function versionedFlags(known: ReadonlySet<string>): Readonly<Record<string, string>> {
  const newest = (...names: readonly string[]): string | undefined => names.find(name => known.has(name))
  const corruptCheck = newest('feature-gates', 'experimental-initial-corrupt-check')
  const progress = newest('watch-progress-notify-interval', 'experimental-watch-progress-notify-interval')
  return {
    ...(corruptCheck && {
      [corruptCheck]: corruptCheck === 'feature-gates' ? 'InitialCorruptCheck=true' : 'true',
    }),
    ...(progress && { [progress]: '5s' }),
  }
}

type Flags = readonly (readonly [name: string, value: string])[]

function withExtraArgs(defaults: Readonly<Record<string, string>>, extraArgs: readonly Arg[]): Flags {
  const extra = extraArgs.map(({ name = '', value = '' }) => [name, value] as const)
  const replaced = new Set(extra.map(([name]) => name))
  return [...Object.entries(defaults).filter(([name]) => !replaced.has(name)), ...extra]
}

/** etcd uses the last of several values. */
function valueOf(flags: Flags, name: string): string {
  return flags.findLast(([each]) => each === name)?.[1] ?? ''
}
