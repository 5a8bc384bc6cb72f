/** A control plane host with an etcd member as `k8ts init` and `k8ts join` run it, on a loopback address. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { cp, mkdir, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EtcdMembers } from '#/store/etcd-members.ts'
import type { EtcdOperation } from '#/cluster/etcd-operation.ts'
import { joinEtcdCluster, promoteEtcdMember, type JoinedEtcdMember } from '#/cluster/join-etcd-cluster.ts'
import { leaveEtcdCluster, type EtcdLeave } from '#/cluster/leave-etcd-cluster.ts'
import { waitForEtcd } from '#/cluster/wait-for-etcd.ts'
import { ensureEtcdCertificates } from '#/kubeadm/etcd-certificates.ts'
import { planEtcdMember, type EtcdMemberPlan } from '#/kubeadm/etcd-member.ts'
import { readEtcdProgram, type EtcdProgram } from '#/kubeadm/etcd-program.ts'
import { loadGrpc, nodeCrypto, nodePlatform } from '#/platform/node.ts'
import type { GrpcTls } from '#/platform/grpc.ts'
import { freePorts } from './cluster.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const connect = await loadGrpc()

export interface StackedHostOptions {
  /** Of all hosts. */
  readonly folder: string
  readonly number: number
  /** Has the certificate authority; absent for the first host of a cluster. */
  readonly first?: StackedHost
}

export class StackedHost implements AsyncDisposable {
  readonly name: string
  readonly folder: string
  readonly tls: GrpcTls
  /** Lines of progress. */
  readonly progress: string[] = []
  readonly #program: EtcdProgram
  readonly #address: string
  readonly #ports: readonly number[]
  #initialCluster: string | undefined
  #process: ChildProcess | undefined

  private constructor(
    options: StackedHostOptions,
    made: { readonly tls: GrpcTls; readonly program: EtcdProgram; readonly ports: readonly number[] },
  ) {
    this.name = `n${options.number}`
    this.folder = join(options.folder, this.name)
    this.#address = `127.0.0.${options.number}`
    this.tls = made.tls
    this.#program = made.program
    this.#ports = made.ports
  }

  static async create(options: StackedHostOptions): Promise<StackedHost> {
    const { folder: parent, number, first } = options
    const folder = join(parent, `n${number}`)
    const pki = join(folder, 'pki')
    await mkdir(join(pki, 'etcd'), { recursive: true, mode: 0o700 })
    if (first)
      for (const file of ['ca.crt', 'ca.key']) {
        await cp(join(first.folder, 'pki', 'etcd', file), join(pki, 'etcd', file))
      }
    const { ca, apiServerClient } = await ensureEtcdCertificates({
      platform,
      crypto: nodeCrypto(),
      folder: pki,
      nodeName: `n${number}`,
      names: [`127.0.0.${number}`],
    })
    const architecture = process.arch === 'x64' ? 'amd64' : process.arch
    const program = await readEtcdProgram({ platform, architecture })
    const tls = { ca: ca.cert, cert: apiServerClient.cert, key: apiServerClient.key }
    return new StackedHost(options, { tls, program, ports: await freePorts(3) })
  }

  get plan(): EtcdMemberPlan {
    const [client = 0, peer = 0, metrics = 0] = this.#ports
    return planEtcdMember({
      program: this.#program,
      nodeName: this.name,
      advertiseAddress: this.#address,
      certificatesDir: join(this.folder, 'pki'),
      folder: this.folder,
      local: {
        extraArgs: [
          { name: 'heartbeat-interval', value: '50' },
          { name: 'election-timeout', value: '500' },
          { name: 'log-level', value: 'warn' },
        ],
      },
      initialCluster: this.#initialCluster,
      ports: { client, peer, metrics },
    })
  }

  get logPath(): string {
    return join(this.folder, 'etcd.log')
  }

  /** Adds the member to the cluster of another host, without starting it. */
  async add(operation: EtcdOperation): Promise<JoinedEtcdMember> {
    const joined = await joinEtcdCluster({ ...operation, files: platform.files, member: this.plan })
    this.#initialCluster = joined.initialCluster
    return joined
  }

  /** All steps of joining. */
  async join(operation: EtcdOperation): Promise<void> {
    const { id } = await this.add(operation)
    await this.start()
    const { name, logPath } = this
    await promoteEtcdMember({ ...operation, member: { id, name }, logPath })
    await this.wait()
  }

  async start(): Promise<void> {
    const { command, environment } = this.plan
    await using log = await open(this.logPath, 'a')
    // The kernel kills the member when this process dies.
    this.#process = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', log.fd, log.fd],
    })
  }

  async wait(timeoutMs?: number): Promise<void> {
    await using members = this.members()
    const { logPath, plan } = this
    await waitForEtcd({ ...this.operation(members), endpoint: plan.localUrl, logPath, timeoutMs })
  }

  async leave(operation: EtcdOperation): Promise<EtcdLeave> {
    return leaveEtcdCluster({ ...operation, peerUrls: this.plan.peerUrls })
  }

  /** As seen through the member of this host, or others. */
  members(endpoints: readonly string[] = [this.plan.localUrl], tls = this.tls): EtcdMembers {
    return new EtcdMembers({
      platform,
      connect,
      endpoints,
      tls,
      attemptTimeoutMs: 2_000,
      requestTimeoutMs: 6_000,
    })
  }

  operation(members: EtcdMembers): EtcdOperation {
    return { platform, members, onProgress: line => this.progress.push(line), timeoutMs: 60_000 }
  }

  etcdctl(...command: readonly string[]): string {
    const file = (name: string): string => join(this.folder, 'pki', 'etcd', name)
    const flags = [
      `--endpoints=${this.plan.clientUrl}`,
      `--cacert=${file('ca.crt')}`,
      `--cert=${file('healthcheck-client.crt')}`,
      `--key=${file('healthcheck-client.key')}`,
    ]
    const env = { PATH: process.env['PATH'], ETCDCTL_API: '3' }
    return execFileSync('etcdctl', [...flags, ...command], { env, encoding: 'utf8', stdio: 'pipe' })
  }

  async readLog(): Promise<string> {
    return readFile(this.logPath, 'utf8')
  }

  async kill(): Promise<void> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
    child.kill('SIGKILL')
    await exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }
}
