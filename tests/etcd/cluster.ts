/**
 * Real etcd members as child processes on loopback ports, with TLS for clients. They can be killed, paused,
 * partitioned and restarted; they are terminated with their parent process in any case.
 */
import { spawn, execFileSync, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeCertificates, type Certificates } from './certificates.ts'
import { PeerProxy } from './peer-proxy.ts'

/** The reason why etcd is not available; false when it is. */
export const etcdMissing: string | false =
  isInstalled('etcd') && isInstalled('etcdctl')
    ? false
    : 'etcd is not installed (Debian packages etcd-server and etcd-client)'

export class EtcdCluster implements AsyncDisposable {
  readonly members: readonly EtcdMember[]
  readonly certificates: Certificates
  readonly #folder: string

  private constructor(folder: string, certificates: Certificates, members: readonly EtcdMember[]) {
    this.#folder = folder
    this.certificates = certificates
    this.members = members
  }

  /** `flags` are added to those of each member. */
  static start(size: number, flags: Readonly<Record<string, string>> = {}): Promise<EtcdCluster> {
    return EtcdCluster.#start(size, 'https', flags)
  }

  /** Without TLS for clients; `etcdctl` and `roles` do not work with these members. */
  static startPlain(size: number): Promise<EtcdCluster> {
    return EtcdCluster.#start(size, 'http')
  }

  static async #start(
    size: number,
    scheme: 'http' | 'https',
    more: Readonly<Record<string, string>> = {},
  ): Promise<EtcdCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'etcd-'))
    const certificates = await makeCertificates(folder)
    const ports = await freePorts(size * 2)
    const cuts = new Cuts()
    const proxies = await Promise.all(
      Array.from({ length: size }, (_, index) => {
        return PeerProxy.start({ targetPort: ports[size + index]!, isCut: from => cuts.has(index, from) })
      }),
    )
    cuts.proxies = proxies
    const initialCluster = proxies.map((proxy, index) => `m${index}=${proxy.url}`).join(',')
    const members = await Promise.all(
      proxies.map(async (proxy, index) => {
        const dataFolder = join(folder, `m${index}`)
        await mkdir(dataFolder, { mode: 0o700 })
        const flags = {
          'name': `m${index}`,
          'data-dir': dataFolder,
          'listen-client-urls': `${scheme}://127.0.0.1:${ports[index]}`,
          'advertise-client-urls': `${scheme}://127.0.0.1:${ports[index]}`,
          'listen-peer-urls': `http://127.0.0.1:${ports[size + index]}`,
          'initial-advertise-peer-urls': proxy.url,
          'initial-cluster': initialCluster,
          'heartbeat-interval': '50',
          'election-timeout': '500',
          'log-level': 'error',
          ...(scheme === 'https' && tlsFlags(certificates)),
          ...more,
        }
        const member = new EtcdMember({ endpoint: `127.0.0.1:${ports[index]}`, flags, index, cuts })
        member.start()
        return member
      }),
    )
    return new EtcdCluster(folder, certificates, members)
  }

  get endpoints(): string[] {
    return endpointsOf(this.members)
  }

  /** The output of an `etcdctl` command for some members. */
  etcdctl(command: readonly string[], endpoints = this.endpoints): string {
    const { ca, cert, key } = this.certificates.files
    const flags = [`--endpoints=${endpoints.join(',')}`, `--cacert=${ca}`, `--cert=${cert}`, `--key=${key}`]
    const env = { PATH: process.env.PATH, ETCDCTL_API: '3' }
    return execFileSync('etcdctl', [...flags, ...command], { env, encoding: 'utf8', stdio: 'pipe' })
  }

  /** The leader, once elected, and the followers. */
  async roles(): Promise<{ leader: EtcdMember; followers: EtcdMember[] }> {
    for (;;) {
      const leader = this.members.find(member => this.#leads(member))
      if (leader) return { leader, followers: this.members.filter(member => member !== leader) }
      await sleep(50)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map(member => member.dispose()))
    await rm(this.#folder, { recursive: true, force: true })
  }

  #leads(member: EtcdMember): boolean {
    try {
      const shown = this.etcdctl(['endpoint', 'status', '-w', 'json'], [member.endpoint])
      const statuses = JSON.parse(shown) as EndpointStatus[]
      return statuses.some(({ Status }) => Status.leader === Status.header.member_id)
    } catch {
      return false
    }
  }
}

function tlsFlags({ files }: Certificates): Readonly<Record<string, string>> {
  return {
    'cert-file': files.cert,
    'key-file': files.key,
    'trusted-ca-file': files.ca,
    'client-cert-auth': 'true',
  }
}

export function endpointsOf(members: readonly EtcdMember[]): string[] {
  return members.map(member => member.endpoint)
}

interface EndpointStatus {
  readonly Status: { readonly header: { readonly member_id: number }; readonly leader: number }
}

export class EtcdMember {
  readonly endpoint: string
  readonly #flags: Readonly<Record<string, string>>
  readonly #index: number
  readonly #cuts: Cuts
  #process: ChildProcess | undefined

  constructor(options: MemberOptions) {
    this.endpoint = options.endpoint
    this.#flags = options.flags
    this.#index = options.index
    this.#cuts = options.cuts
  }

  /** Also restarts a killed member with its data. */
  start(): void {
    const flags = Object.entries(this.#flags).map(([name, value]) => `--${name}=${value}`)
    const environment = { PATH: process.env.PATH, ETCD_UNSUPPORTED_ARCH: process.arch }
    // The kernel kills the member when this process dies.
    const command = ['--pdeathsig', 'KILL', 'etcd', ...flags]
    this.#process = spawn('setpriv', command, { env: environment, stdio: 'ignore' })
  }

  async kill(): Promise<void> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
    child.kill('SIGKILL')
    await exited
  }

  /** Pauses the member; its connections stay open. */
  halt(): void {
    this.#process?.kill('SIGSTOP')
  }

  resume(): void {
    this.#process?.kill('SIGCONT')
  }

  /** Partitions this member from the others; clients still reach it. */
  cutOff(): void {
    this.#cuts.cut(this.#index)
  }

  reconnect(): void {
    this.#cuts.heal(this.#index)
  }

  async dispose(): Promise<void> {
    await this.kill()
    this.#cuts.proxies[this.#index]?.close()
  }
}

interface MemberOptions {
  readonly endpoint: string
  readonly flags: Readonly<Record<string, string>>
  readonly index: number
  readonly cuts: Cuts
}

/** The members that are partitioned from the others. */
class Cuts {
  proxies: readonly PeerProxy[] = []
  readonly #members = new Set<number>()

  has(to: number, from: string): boolean {
    return this.#members.has(to) || this.#members.has(this.proxies.findIndex(proxy => proxy.url === from))
  }

  cut(member: number): void {
    this.#members.add(member)
    for (const proxy of this.proxies) proxy.refresh()
  }

  heal(member: number): void {
    this.#members.delete(member)
    for (const proxy of this.proxies) proxy.refresh()
  }
}

/** All ports are bound before the first is released, so that they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const listen = (server: Server) => new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  await Promise.all(servers.map(listen))
  const ports = servers.map(server => (server.address() as AddressInfo).port)
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}

function isInstalled(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
